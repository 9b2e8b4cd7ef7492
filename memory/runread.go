package memory

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/robfig/cron/v3"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
)

// watchPage is how many memories one page of the watch list holds.
const watchPage = 1000

// WatchList is one page of what a run is asked about.
type WatchList struct {
	TrackedBranch string `json:"tracked_branch"` // "" = the default branch
	// Memories are told by what they quote as code, where they hang and what was seen; not by title or text. Patterns and Breaking
	// are for the run to fill in (drift.Aim).
	Memories []evidence.Watched `json:"memories"`
	Next     string             `json:"next,omitempty"` // pass it as after for the next page
}

// Watch gives the watch list of the caller's project. Of a personal memory it tells where it hangs and what was seen, and none
// of its words.
func (s *Service) Watch(ctx context.Context, c Caller, after string) (WatchList, error) {
	if err := c.mayPushRuns(); err != nil {
		return WatchList{}, err
	}
	from := uuid.Nil
	if after != "" {
		var err error
		if from, err = uuid.Parse(after); err != nil {
			return WatchList{}, problem.Invalidf("after", "%q is not a place in the list", clip(after, 80)).Fix("pass next of the page before")
		}
	}
	var out WatchList
	err := s.viewRuns(ctx, c, func(v View) error {
		out = WatchList{Memories: []evidence.Watched{}}
		settings, err := v.DriftSettings(ctx, c.Project)
		if err != nil {
			return err
		}
		out.TrackedBranch = settings.TrackedBranch
		ids, err := v.Watched(ctx, c.Project, from, watchPage)
		if err != nil {
			return err
		}
		known, err := v.EvidenceOf(ctx, ids, evidence.Version)
		if err != nil {
			return err
		}
		elements, err := v.Elements(ctx, c.Project, true)
		if err != nil {
			return err
		}
		same, taken := map[uuid.UUID]string{}, map[string]bool{}
		for _, e := range elements {
			same[e.ID] = e.Properties[c4model.IdentityProperty]
			taken[c4model.FoldKey(e.Key)] = taken[c4model.FoldKey(e.Key)] || e.RemovedAt == nil
		}
		for chunk := range slices.Chunk(ids, 500) { // bounds what is decrypted at once
			records, err := v.Records(ctx, chunk)
			if err != nil {
				return err
			}
			Caller{Bound: c.Project}.leaveOut(records) // this run knows nothing of other projects' elements and files
			for i := range records {
				out.Memories = append(out.Memories, watch(&records[i], known[records[i].ID], same, taken))
			}
		}
		if len(ids) == watchPage {
			out.Next = ids[len(ids)-1].String()
		}
		return nil
	})
	return out, wrap("watch list", err)
}

// watch is what a run is told of a memory. An element that left the model is named, too, since the run may bring it back; taken
// are the keys that others bear.
func watch(r *Record, known map[int]EvidenceState, same map[uuid.UUID]string, taken map[string]bool) evidence.Watched {
	w := groundOf(r.Elements, r.Paths)
	w.Same = []string{}
	for _, e := range r.Elements {
		if e.Orphan && !taken[c4model.FoldKey(e.Key)] {
			w.Elements = append(w.Elements, e.Key)
		}
		if id := same[e.ID]; id != "" {
			w.Same = append(w.Same, id)
		}
	}
	w.ID = r.ID.String()
	if r.Seen != nil {
		w.Seen, w.SeenTree = r.Seen.Commit, r.Seen.Tree
	}
	if r.Scope == Personal {
		return w
	}
	for i, c := range r.claims() {
		held := known[i].State == evidenceHeld
		w.Claims = append(w.Claims, evidence.WatchedClaim{Text: c.Text, Kind: c.Kind, Evidence: held, Where: some(known[i].FoundIn)})
	}
	return w
}

// groundOf is where a memory hangs.
func groundOf(elements []ElementRef, paths []string) evidence.Watched {
	w := evidence.Watched{Elements: []string{}, Files: []string{}, Patterns: []string{}, Breaking: []string{}, Claims: []evidence.WatchedClaim{}}
	for _, e := range elements {
		if !e.Orphan {
			w.Elements = append(w.Elements, e.Key)
		}
	}
	for _, p := range paths {
		if strings.ContainsAny(p, "*?[{") {
			w.Patterns = append(w.Patterns, p)
		} else {
			w.Files = append(w.Files, p)
		}
	}
	return w
}

// GroundPatterns are the patterns of the files that a run looks at for a memory with these elements, by key, and paths, in a
// project with this model. Bindings that only the server knows are left out, since runs do not look at them unless they are
// asked to.
func GroundPatterns(m ModelView, elements, paths []string) []string {
	refs := make([]ElementRef, len(elements))
	for i, key := range elements {
		refs[i].Key = key
	}
	w := groundOf(refs, paths)
	bindings := slices.DeleteFunc(slices.Clone(m.Bindings), func(b c4model.Binding) bool { return b.Source == ServerBinding || b.Repository != "" })
	w.Patterns = append(w.Patterns, drift.Bound(&c4model.Model{Elements: m.Elements}, bindings, elements)...)
	return w.Bound()
}

// seenOn completes what a writer saw: the state of the files that a run will look at for a memory with these elements and
// paths. Who names no commit is taken to have seen the newest that a tracked run compared; without one, nil.
func seenOn(ctx context.Context, v View, c Caller, seen *Seen, elements []ElementRef, paths []string) (*Seen, error) {
	if (seen == nil || seen.Commit == "") && c.Project != uuid.Nil {
		latest, err := v.LatestCompared(ctx, c.Project)
		if err != nil {
			return nil, err
		}
		if latest.Commit != "" {
			return &Seen{Commit: latest.Commit, Branch: latest.Branch, Assumed: true}, nil
		}
	}
	if seen == nil || seen.TreeOf == nil {
		return seen, nil
	}
	out := *seen
	out.TreeOf = nil
	var m ModelView
	keys := groundOf(elements, nil).Elements
	if len(keys) > 0 && c.Project != uuid.Nil {
		known, err := v.Elements(ctx, c.Project, false)
		if err != nil {
			return nil, err
		}
		for _, e := range known {
			m.Elements = append(m.Elements, e.Element)
		}
		bound, err := v.Bindings(ctx, c.Project)
		if err != nil {
			return nil, err
		}
		for _, b := range bound {
			m.Bindings = append(m.Bindings, b.Binding)
		}
	}
	if patterns := GroundPatterns(m, keys, paths); len(patterns) > 0 {
		out.Tree = seen.TreeOf(ctx, patterns)
	}
	return &out, nil
}

// RunQuery asks for runs of a project, newest first.
type RunQuery struct {
	Repository string // "" = any
	Branch     string // "" = any
	Tracked    bool   // only runs that could put memories in doubt
	Limit      int    // 1 to 200; 0 = 20
	Before     time.Time
}

// RunSummary is a run in one line.
type RunSummary struct {
	ID          string    `json:"id"`
	Repository  string    `json:"repository"`
	Branch      string    `json:"branch"`
	Commit      string    `json:"commit"`
	CommittedAt time.Time `json:"committed_at"`
	ArrivedAt   time.Time `json:"arrived_at"`
	Actor       string    `json:"actor"`
	Tracked     bool      `json:"tracked"`
	Late        bool      `json:"late"`
	Status      string    `json:"status"`
	Score       *int      `json:"score"`
	Coverage    *int      `json:"coverage"`
	NewFindings int       `json:"new_findings"`
	Doubted     int       `json:"doubted"`
}

// RunReport is a run with what it found.
type RunReport struct {
	Run    RunSummary   `json:"run"`
	Report drift.Report `json:"report"`
}

// DriftScore is the state of a project: the latest tracked run of each of its repositories, added up.
type DriftScore struct {
	Status   drift.Status           `json:"status"`
	Reason   string                 `json:"reason,omitempty"`
	Score    *int                   `json:"score"` // 100 means the code matches the model
	Coverage *int                   `json:"coverage"`
	Levels   map[string]drift.Tally `json:"levels"`
	Findings int                    `json:"findings"`
	Runs     []RunSummary           `json:"runs"`
}

// runsView reads runs for people.
type runsView interface {
	driftProjects
	// Runs lists runs, newest first.
	Runs(ctx context.Context, project uuid.UUID, q RunQuery) ([]RunSummary, error)
	// LatestCompared gives the commit that the newest tracked run compared, and its branch; a zero one when there was none.
	LatestCompared(ctx context.Context, project uuid.UUID) (Compared, error)
	// RunReport gives the report of a run.
	RunReport(ctx context.Context, project, run uuid.UUID) (RunReport, bool, error)
	// LatestTracked gives the latest tracked run of each repository, with its report.
	LatestTracked(ctx context.Context, project uuid.UUID) ([]Run, error)
}

// Compared is what a run compared.
type Compared struct{ Commit, Branch string }

// DriftHistory lists runs, newest first.
func (s *Service) DriftHistory(ctx context.Context, c Caller, q RunQuery) ([]RunSummary, error) {
	const most, usual = 200, 20
	if q.Limit == 0 {
		q.Limit = usual
	}
	if q.Limit < 0 || q.Limit > most {
		return nil, problem.Invalidf("limit", "%d is not between 1 and %d", q.Limit, most)
	}
	if err := c.mayReadRuns(); err != nil {
		return nil, err
	}
	var out []RunSummary
	err := s.viewRuns(ctx, c, func(v View) (err error) {
		out, err = v.Runs(ctx, c.Project, q)
		return err
	})
	return out, wrap("drift history", err)
}

// mayReadRuns refuses callers without a project.
func (c Caller) mayReadRuns() error {
	if c.Project == uuid.Nil {
		return problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	return c.valid()
}

// DriftRun gives one run; "" is the newest tracked one.
func (s *Service) DriftRun(ctx context.Context, c Caller, id string) (RunReport, error) {
	if err := c.mayReadRuns(); err != nil {
		return RunReport{}, err
	}
	run := uuid.Nil
	if id != "" {
		var err error
		if run, err = uuid.Parse(id); err != nil {
			return RunReport{}, problem.Invalidf("run", "%q is not the id of a run", clip(id, 80)).Fix("see stele drift history")
		}
	}
	var out RunReport
	err := s.viewRuns(ctx, c, func(v View) error {
		if run == uuid.Nil {
			runs, err := v.Runs(ctx, c.Project, RunQuery{Tracked: true, Limit: 1})
			if err != nil {
				return err
			}
			if len(runs) == 0 {
				return problem.New(problem.NotFound, "run", "no run of the tracked branch is known", "stele drift run --push")
			}
			run = uuid.MustParse(runs[0].ID)
		}
		report, found, err := v.RunReport(ctx, c.Project, run)
		if err == nil && !found {
			err = problem.New(problem.NotFound, "run", fmt.Sprintf("there is no run %s in this project", run), "see stele drift history; old runs are not kept for good")
		}
		out = report
		return err
	})
	return out, wrap("drift run", err)
}

// DriftScore adds up the latest tracked run of each repository of the project.
func (s *Service) DriftScore(ctx context.Context, c Caller) (DriftScore, error) {
	if err := c.mayReadRuns(); err != nil {
		return DriftScore{}, err
	}
	var out DriftScore
	err := s.viewRuns(ctx, c, func(v View) error {
		runs, err := v.LatestTracked(ctx, c.Project)
		if err != nil {
			return err
		}
		out = sumRuns(runs)
		return nil
	})
	return out, wrap("drift score", err)
}

// sumRuns applies the formula to the checks of several runs together. Coverage is the greatest of theirs: each
// knows only the bindings of its own repository, so together they cover no less.
func sumRuns(runs []Run) DriftScore {
	out := DriftScore{Status: drift.NotChecked, Levels: map[string]drift.Tally{}, Runs: []RunSummary{}}
	if len(runs) == 0 {
		out.Reason = "no run of the tracked branch is known: stele drift run --push"
	}
	passed, weight := 0, 0
	for _, r := range runs {
		out.Runs = append(out.Runs, r.Summary())
		if r.Report.Status != drift.Checked {
			out.Reason = r.Report.Reason
			continue
		}
		out.Findings += len(r.Report.Findings)
		passed, weight = passed+r.Report.Passed, weight+r.Report.Weight
		for level, t := range r.Report.Levels {
			sum := out.Levels[level]
			sum.Passed, sum.Weight = sum.Passed+t.Passed, sum.Weight+t.Weight
			sum.Score = drift.Score(sum.Passed, sum.Weight)
			out.Levels[level] = sum
		}
		if r.Report.Coverage != nil && (out.Coverage == nil || *r.Report.Coverage > *out.Coverage) {
			out.Coverage = r.Report.Coverage
		}
	}
	if weight > 0 {
		score := drift.Score(passed, weight)
		out.Status, out.Score, out.Reason = drift.Checked, &score, ""
	}
	return out
}

// Summary is the run in one line.
func (r Run) Summary() RunSummary {
	return RunSummary{
		ID: r.ID.String(), Repository: r.Repository, Branch: r.Branch, Commit: r.Report.Commit, CommittedAt: r.Report.CommittedAt, ArrivedAt: r.ArrivedAt,
		Actor: r.Actor, Tracked: r.Tracked, Late: r.Late, Status: string(r.Report.Status), Score: r.Report.Score, Coverage: r.Report.Coverage,
		NewFindings: r.New, Doubted: r.Doubted,
	}
}

// DriftSettings gives what drift is told about the caller's project.
func (s *Service) DriftSettings(ctx context.Context, c Caller) (DriftSettings, error) {
	if !c.mayReview() {
		return DriftSettings{}, problem.New(problem.Forbidden, "", "the settings of drift need the reviewer role", "use a token of role reviewer")
	}
	var out DriftSettings
	err := s.view(ctx, c, func(v View) (err error) {
		out, err = v.DriftSettings(ctx, c.Project)
		return err
	})
	return out, wrap("drift settings", err)
}

// DriftSettingsChange changes what drift is told about a project; what is nil stays.
type DriftSettingsChange struct {
	TrackedBranch *string `json:"tracked_branch"` // "" = the default branch that runs name
	CloneURL      *string `json:"clone_url"`      // https or ssh, without credentials; "" = the server reads nothing itself
	Schedule      *string `json:"schedule"`       // cron expression of five fields, UTC; "" = never
	Badge         *bool   `json:"badge"`          // true makes a new secret address for badges, false ends them
}

// ChangeDriftSettings changes what drift is told about the caller's project.
func (s *Service) ChangeDriftSettings(ctx context.Context, c Caller, change DriftSettingsChange) (DriftSettings, error) {
	if !c.mayReview() {
		return DriftSettings{}, problem.New(problem.Forbidden, "", "the settings of drift need the reviewer role", "use a token of role reviewer")
	}
	if err := change.check(); err != nil {
		return DriftSettings{}, err
	}
	var out DriftSettings
	err := s.write(ctx, c, []SpaceKey{{Project, c.Project.String()}}, func(tx Tx) error {
		return once(ctx, tx, c, s.now(), VerbSetDrift, change, &out, func() error {
			var err error
			if out, err = tx.DriftSettings(ctx, c.Project); err != nil {
				return err
			}
			for to, from := range map[*string]*string{&out.TrackedBranch: change.TrackedBranch, &out.CloneURL: change.CloneURL, &out.Schedule: change.Schedule} {
				if from != nil {
					*to = strings.TrimSpace(*from)
				}
			}
			if change.Badge != nil {
				out.Badge = ""
				if *change.Badge {
					out.Badge = rand.Text()
				}
			}
			if err := tx.SetDriftSettings(ctx, c.Project, out); err != nil {
				return err
			}
			return tx.Audit(ctx, c, AuditEntry{At: s.now(), Verb: VerbSetDrift, Subject: c.Project})
		})
	})
	return out, wrap("drift settings", err)
}

// check refuses settings that could not work, and addresses that would make the server ask where it should not.
func (c DriftSettingsChange) check() error {
	const most = 1000
	if b := c.TrackedBranch; b != nil && (len(*b) > most || hasControl(*b) || strings.HasPrefix(*b, "-") || strings.ContainsAny(*b, " ~^:?*[\\")) {
		return problem.Invalidf("tracked_branch", "%q is no name of a branch", clip(*b, 80)).Fix("give its short name, such as main")
	}
	if s := c.Schedule; s != nil && strings.TrimSpace(*s) != "" {
		if _, err := cron.ParseStandard(strings.TrimSpace(*s)); err != nil {
			return problem.Invalidf("schedule", "%q is no cron expression", clip(*s, 80)).Fix("give five fields, such as 0 4 * * * for four in the morning, UTC").Because(err)
		}
	}
	if u := c.CloneURL; u != nil && strings.TrimSpace(*u) != "" {
		return checkCloneURL(strings.TrimSpace(*u))
	}
	return nil
}

// checkCloneURL takes https and ssh addresses of other machines, without credentials: git knows more kinds, and some of them run
// programs or read files of the server.
func checkCloneURL(address string) error {
	bad := func(detail string) error {
		return problem.Invalidf("clone_url", "%s", detail).Fix("give an address such as https://example.org/owner/name.git, without user and password")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > 1000 || hasControl(address):
		return bad("it is no address")
	case u.Scheme != "https" && u.Scheme != "ssh":
		return bad("only https and ssh are read")
	case u.Host == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.Path, "/-"):
		return bad("it names no machine")
	case thisMachine(u.Hostname()):
		return bad("it is of the machine that the server runs on")
	case u.User != nil && (u.Scheme == "https" || u.User.String() != "git"):
		return bad("it holds credentials, which would be readable by every reviewer")
	}
	return nil
}

// thisMachine tells whether an address is one by which a machine reaches itself, or what only those beside it can reach, such as
// the service that tells machines of a cloud their credentials.
func thisMachine(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast())
}

// HeldModel gives the model that waits for a decision.
func (s *Service) HeldModel(ctx context.Context, c Caller) (HeldModel, bool, error) {
	if !c.mayReview() {
		return HeldModel{}, false, problem.New(problem.Forbidden, "", "deciding about a model needs the reviewer role", "use a token of role reviewer")
	}
	var out HeldModel
	var found bool
	err := s.view(ctx, c, func(v View) (err error) {
		out, _, found, err = v.Held(ctx, c.Project)
		return err
	})
	return out, found, wrap("held model", err)
}
