package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
)

// Bounds of a pushed run.
const (
	MaxAncestors   = 201    // first parents of a run, itself among them
	maxRunFindings = 20_000 // more is a model of another repository
	maxVerdicts    = 50_000
)

// heldShare is the share of a project's elements that a pushed model may drop without a person's consent.
const heldShare = 0.3

// RunPush is a comparison of the model with a commit, made where the code is, with what became of the memories on the watch
// list.
type RunPush struct {
	Repository    string       `json:"repository"`     // identity of the repository, "host/owner/name"; at most 500 bytes
	Branch        string       `json:"branch"`         // it ran on; "" for a detached head
	DefaultBranch string       `json:"default_branch"` // of the repository, as the checkout knows it
	Ancestors     []string     `json:"ancestors"`      // first parents, newest first, the commit itself first
	Tracked       bool         `json:"tracked"`        // a push to the branch, not a proposal to change it
	Report        drift.Report `json:"report"`
	// Model, with Bindings and Source, is the model that was compared, when it is a file of this repository. On the tracked
	// branch it becomes the project's.
	Model    *c4model.Model     `json:"model,omitempty"`
	Bindings []c4model.Binding  `json:"bindings,omitempty"`
	Source   string             `json:"source,omitempty"`
	Verdicts []evidence.Verdict `json:"verdicts,omitempty"`
	// Owners says who owns which files of the repository, as CODEOWNERS does: the last pattern that matches a file decides. Nil
	// leaves what is known, an empty list takes it back.
	Owners []OwnerRule `json:"owners,omitzero"`
	// Changed are the files that a proposal changes, by their names before and after; at most MaxChanged. RunAnswer.Pitfalls is
	// about them.
	Changed []string `json:"changed,omitempty"`
}

// RunAnswer says what a pushed run did.
type RunAnswer struct {
	RunID       string          `json:"run_id"`
	Repeated    bool            `json:"repeated"` // the very same run had been pushed before; nothing was done
	Tracked     bool            `json:"tracked"`  // it could put memories in doubt
	Late        bool            `json:"late"`     // a newer commit had been compared before; nothing was done but storing it
	Baseline    string          `json:"baseline"` // commit that new findings are counted from, "" when there was none
	NewFindings []string        `json:"new_findings"`
	Stamped     []string        `json:"stamped"`   // keys of elements that began to drift
	Doubted     []DoubtedMemory `json:"doubted"`   // memories put in doubt; of an untracked run, those that would be
	Withdrawn   int             `json:"withdrawn"` // doubts whose reason went away
	Imported    *ModelReport    `json:"imported,omitempty"`
	Held        *HeldModel      `json:"held,omitempty"`
	// Pitfalls are those of RunPush.Changed, best first and at most 20, as they are when the answer is given.
	Pitfalls []KnownPitfall `json:"pitfalls"`
	Warnings []string       `json:"warnings"`
}

// DoubtedMemory names a memory without a word of it.
type DoubtedMemory struct {
	Handle  string `json:"handle"`
	Kind    Kind   `json:"kind"`
	Element string `json:"element"` // key; "" when its evidence and not an element is the reason
	Cause   string `json:"cause"`   // drifted, evidence_gone, rewritten
}

// HeldModel is a pushed model that waits for a person, because it would drop many elements.
type HeldModel struct {
	ID        string     `json:"id"`
	RunID     string     `json:"run_id"`
	HeldAt    time.Time  `json:"held_at"`
	Actor     string     `json:"actor"`
	Removed   []string   `json:"removed"`  // keys that would leave
	Elements  int        `json:"elements"` // that the project has
	DecidedAt *time.Time `json:"decided_at,omitempty"`
}

// Run is a stored run.
type Run struct {
	ID         uuid.UUID
	Project    uuid.UUID
	Repository string
	Branch     string
	Ancestors  []string
	ArrivedAt  time.Time
	Actor      string
	Tracked    bool
	Late       bool
	Report     drift.Report
	Answer     json.RawMessage
	New        int
	Doubted    int
}

// Stamp is a moment at which drift began on an element.
type Stamp struct {
	ID          uuid.UUID
	Run         uuid.UUID
	Element     uuid.UUID
	At          time.Time
	Fingerprint string
	Commit      string // that made it drift
	Reason      string // words: what, in which commit, by whom
	Moved       bool   // the files of the element are elsewhere
	Origin      string // what happened, the same for everything it concerns: commit, space, what
}

// runView reads runs.
type runView interface {
	// SameRun finds the run that a push repeats.
	SameRun(ctx context.Context, r Run) (Run, bool, error)
	// TrackedRuns gives, of the tracked, checked runs of a repository and branch that were not late, the newest, and the newest
	// whose commit is among some; newest first.
	TrackedRuns(ctx context.Context, project uuid.UUID, repository, branch string, commits []string) ([]Run, error)
	// DriftSettings gives what drift is told about a project.
	DriftSettings(ctx context.Context, project uuid.UUID) (DriftSettings, error)
	// Held gives the model that waits for a person, and what it would import.
	Held(ctx context.Context, project uuid.UUID) (HeldModel, ModelImport, bool, error)
	// Watched lists the live memories, other than outcomes, that are attached to elements of the project, name its paths or were
	// written in it, in order of ids after one.
	Watched(ctx context.Context, project uuid.UUID, after uuid.UUID, limit int) ([]uuid.UUID, error)
	// EvidenceOf gives what is known of the claims of memories' current texts, by memory and ordinal.
	EvidenceOf(ctx context.Context, memories []uuid.UUID, version int) (map[uuid.UUID]map[int]EvidenceState, error)
	// OpenDoubts lists the open doubts of memories, disputes apart.
	OpenDoubts(ctx context.Context, memories []uuid.UUID) ([]OpenDoubt, error)
	// Owed lists the doubts that the stamps of a project's elements make and that were never opened: of live memories, attached,
	// confirmed before the stamp, not excused, outcomes apart.
	Owed(ctx context.Context, project uuid.UUID) ([]OwedDoubt, error)
}

// runTx stores runs and what they do.
type runTx interface {
	SaveRun(ctx context.Context, r Run) error
	AddStamps(ctx context.Context, project uuid.UUID, stamps []Stamp) error
	// Excuse says that memories were written knowing what a stamp stands for.
	Excuse(ctx context.Context, stamp uuid.UUID, memories []uuid.UUID) error
	// Withdraw closes doubts whose reason went away.
	Withdraw(ctx context.Context, doubts []uuid.UUID, now time.Time) error
	// SaveEvidence notes what became of claims of a memory's current text.
	SaveEvidence(ctx context.Context, memory uuid.UUID, revision, version int, states map[int]EvidenceState) error
	// SetChanged notes how many percent of the lines a memory was written about are gone.
	SetChanged(ctx context.Context, memory uuid.UUID, percent int) error
	// SeeAt says that the files that the writer of a memory had are those of a commit.
	SeeAt(ctx context.Context, memory uuid.UUID, commit, branch string) error
	// HoldModel keeps a model for a person to decide about, in place of one that waits.
	HoldModel(ctx context.Context, project uuid.UUID, held HeldModel, model ModelImport) error
	// DecideModel closes the model that waits.
	DecideModel(ctx context.Context, project uuid.UUID, accepted bool, by string, now time.Time) error
	SetDriftSettings(ctx context.Context, project uuid.UUID, settings DriftSettings) error
	// SaveOwners replaces what is known of who owns the files of a repository.
	SaveOwners(ctx context.Context, project uuid.UUID, repository string, rules []OwnerRule) error
}

// DriftSettings are what drift is told about a project.
type DriftSettings struct {
	TrackedBranch string `json:"tracked_branch"` // "" = the default branch that runs name
	CloneURL      string `json:"clone_url"`      // where the server reads the repository itself; "" = it does not
	Schedule      string `json:"schedule"`       // cron expression for runs by the server; "" = none
	Badge         string `json:"badge"`          // secret part of the addresses of badges; "" = there are none
}

// EvidenceState is what is known of one claim.
type EvidenceState struct {
	State   string // held, gone, forgotten
	FoundIn []string
}

// The states of evidence. A claim without one was never found.
const (
	evidenceHeld      = "held"
	evidenceGone      = "gone"
	evidenceForgotten = "forgotten" // it was gone when somebody confirmed the memory
)

// OpenDoubt is a doubt that is open.
type OpenDoubt struct {
	ID      uuid.UUID
	Memory  uuid.UUID
	Cause   string
	Element uuid.UUID // of the stamp; uuid.Nil for doubts without one
	Moved   bool      // the stamp is of files that are elsewhere
}

// OwedDoubt is a doubt that a stamp makes.
type OwedDoubt struct {
	Memory     uuid.UUID
	Handle     string
	Kind       Kind
	Space      int32
	Stamp      Stamp
	ElementKey string
}

// PushRun stores a run. On the tracked branch, from somebody who may speak for it, the model that was compared becomes the
// project's, elements on which drift began are stamped, and memories come into doubt or out of it. Any other run only reports
// what it would do. The very same run again changes nothing.
func (s *Service) PushRun(ctx context.Context, c Caller, p RunPush) (RunAnswer, error) {
	if err := c.mayPushRuns(); err != nil {
		return RunAnswer{}, err
	}
	if err := p.check(); err != nil {
		return RunAnswer{}, err
	}
	vouched := s.vouched(ctx, c, p)
	spaces := []SpaceKey{{Organization, ""}, {Project, c.Project.String()}}
	var out RunAnswer
	for range maxImportRounds {
		var needed []SpaceKey
		err := s.writeRuns(ctx, c, spaces, func(tx Tx) error {
			w := runWrite{Service: s, ctx: ctx, tx: tx, c: c, p: p, vouched: vouched, now: s.now()}
			err := w.run()
			out, needed = w.out, w.needed
			return err
		})
		if err == nil {
			out.Pitfalls, err = s.pitfalls(ctx, c, p.Changed)
		}
		if err == nil || len(needed) == 0 {
			return out, wrap("push run", err)
		}
		spaces = append(spaces, needed...)
	}
	return RunAnswer{}, problem.New(problem.Conflict, "", "memories on the elements kept appearing in further places", "push again")
}

// mayPushRuns refuses callers that runs are not for.
func (c Caller) mayPushRuns() error {
	switch {
	case c.Project == uuid.Nil:
		return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	case c.Role != RoleCI && !c.mayReview():
		return problem.New(problem.Forbidden, "", "pushing a run needs the ci role", "use a token of role ci")
	}
	return c.valid()
}

// mayTrack tells whether the caller may speak for the tracked branch: a person who reviews, or a token that was given the
// right.
func (c Caller) mayTrack() bool { return c.mayReview() || c.Role == RoleCI && c.Tracked }

func (p *RunPush) check() error {
	const maxName, hashLength, maxHash = 500, 40, 64 // of SHA-1 and of SHA-256
	switch {
	case strings.TrimSpace(p.Repository) == "" || len(p.Repository) > maxName || hasControl(p.Repository):
		return problem.Invalidf("repository", "%q names no repository", clip(p.Repository, 80)).Fix("send host/owner/name, as `stele drift run --push` does")
	case len(p.Branch) > maxName || hasControl(p.Branch) || len(p.DefaultBranch) > maxName || hasControl(p.DefaultBranch):
		return problem.Invalidf("branch", "it is no name of a branch").Fix("send its short name, such as main")
	case len(p.Ancestors) == 0 || len(p.Ancestors) > MaxAncestors:
		return problem.Invalidf("ancestors", "there are %d, between 1 and %d are taken", len(p.Ancestors), MaxAncestors).
			Fix("send the first parents of the commit, newest first, itself first")
	case p.Ancestors[0] != p.Report.Commit:
		return problem.Invalidf("ancestors", "the first is not the commit of the report").Fix("send the commit itself first")
	case p.Report.Status != drift.Checked && p.Report.Status != drift.NotChecked || len(p.Report.InputHash) > maxName || p.Report.InputHash == "" || hasControl(p.Report.InputHash):
		return problem.Invalidf("report", "it is no report of a run").Fix("send what `stele drift run --json` prints")
	case len(p.Report.Findings)+len(p.Report.Waived) > maxRunFindings:
		return problem.Invalidf("report", "it has more than %d findings", maxRunFindings).Fix("check that the model is the one of this repository")
	case len(p.Verdicts) > maxVerdicts:
		return problem.Invalidf("verdicts", "there are more than %d", maxVerdicts).Fix("send one for each memory of the watch list")
	case (p.Report.Score == nil) != (p.Report.Status == drift.NotChecked):
		return problem.Invalidf("report", "its score and its status contradict each other").Fix("send what `stele drift run --json` prints")
	case !plausible(&p.Report):
		return problem.Invalidf("report", "it holds numbers or characters that no run gives").Fix("send what `stele drift run --json` prints")
	}
	for _, id := range p.Ancestors {
		if len(id) < hashLength || len(id) > maxHash || strings.Trim(id, "0123456789abcdef") != "" {
			return problem.Invalidf("ancestors", "%q is no commit", clip(id, 80)).Fix("send full hashes")
		}
	}
	if err := checkOwners(p.Owners); err != nil {
		return err
	}
	if err := p.checkChanged(); err != nil {
		return err
	}
	if p.Model == nil {
		return nil
	}
	if hasNUL(reflect.ValueOf(p.Model)) || hasNUL(reflect.ValueOf(p.Bindings)) || len(p.Source) > maxName || hasControl(p.Source) {
		return problem.Invalidf("model", "it holds characters that no model has").Fix("send what `stele drift run --push` reads")
	}
	if err := p.Model.Check(); err != nil {
		return err
	}
	return checkBindings(p.Bindings)
}

// plausible tells whether a report can be stored and added up with others: shares are percentages, no part is more than the
// whole, and no text holds the one character that a database cannot.
func plausible(r *drift.Report) bool {
	const most = 1 << 30
	percent := func(p *int) bool { return p == nil || *p >= 0 && *p <= 100 }
	part := func(passed, weight int) bool { return 0 <= passed && passed <= weight && weight < most }
	ok := percent(r.Score) && percent(r.Coverage) && part(r.Passed, r.Weight) && 0 <= r.EngineVersion && r.EngineVersion < most
	for _, tallies := range []map[string]drift.Tally{r.Levels, r.Elements} {
		for _, t := range tallies {
			ok = ok && part(t.Passed, t.Weight)
		}
	}
	return ok && !hasNUL(reflect.ValueOf(r))
}

// whole fills in what a report left out, so that it reads as any other.
func whole(r drift.Report) drift.Report {
	r.Findings, r.Waived, r.Unverified = some(r.Findings), some(r.Waived), some(r.Unverified)
	r.Unbound, r.Skipped, r.Warnings = some(r.Unbound), some(r.Skipped), some(r.Warnings)
	for _, m := range []*map[string]drift.Tally{&r.Levels, &r.Elements} {
		if *m == nil {
			*m = map[string]drift.Tally{}
		}
	}
	return r
}

func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// hasNUL looks at every text of a value.
func hasNUL(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		return strings.Contains(v.String(), "\x00")
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasNUL(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasNUL(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			if hasNUL(entry.Key()) || hasNUL(entry.Value()) {
				return true
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return false
		}
		for _, field := range v.Fields() {
			if hasNUL(field) {
				return true
			}
		}
	}
	return false
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// baselineOf chooses the run that new findings are counted from: the newest earlier one whose commit is among the ancestors.
// late says that a newer commit of the branch was compared already: the commit is among the ancestors of the newest run.
func (p *RunPush) baselineOf(runs []Run) (baseline *Run, late bool) {
	if len(runs) > 0 && slices.Index(runs[0].Ancestors, p.Report.Commit) > 0 {
		late = true
	}
	for i := range runs {
		if slices.Contains(p.Ancestors, runs[i].Report.Commit) {
			return &runs[i], late
		}
	}
	return nil, late
}

// fresh gives the findings that began since the baseline: not among its own, and not waived there. Without a baseline all are.
func (p *RunPush) fresh(baseline *Run) []drift.Finding {
	if baseline == nil {
		return p.Report.Findings
	}
	r := p.Report
	r.Findings = slices.Clone(r.Findings)
	r.Compare(&baseline.Report)
	return slices.DeleteFunc(r.Findings, func(f drift.Finding) bool { return !f.New })
}

// happened tells whether a finding is an event of the code since the baseline, and when it counts from. A change of the model,
// of a binding or of the engine is none, and neither is a commit that the baseline contained already. With no baseline, an
// event counts from the commit itself, if history was read to its beginning; first says that the branch was never compared
// before.
func (p *RunPush) happened(f drift.Finding, baseline *Run, first bool, now time.Time) (at time.Time, ok bool) {
	if f.Since == nil || f.Since.Cause != drift.CodeChanged {
		return time.Time{}, false
	}
	if baseline == nil {
		return f.Since.Time, first && p.Report.History == "full" && !f.Since.AtOrBefore
	}
	since, base := slices.Index(p.Ancestors, f.Since.Commit), slices.Index(p.Ancestors, baseline.Report.Commit)
	return now, since >= 0 && since < base && baseline.Report.EngineVersion == p.Report.EngineVersion
}

// abbreviated is how much of a commit's hash people are shown.
const abbreviated = 7

// words says what began, in which commit, by whom.
func words(f drift.Finding) string {
	text := Line(f.Message)
	if f.Since != nil {
		text += fmt.Sprintf(", since %s (%s, %s: %s)", f.Since.Commit[:min(len(f.Since.Commit), abbreviated)], Line(f.Since.Author),
			f.Since.Time.UTC().Format(time.DateOnly), Line(f.Since.Subject))
	}
	return clip(text, 600)
}
