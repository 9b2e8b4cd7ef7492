package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
)

// runWrite is one PushRun in its transaction.
type runWrite struct {
	*Service
	ctx context.Context //nolint:containedctx // it lives as long as one call
	tx  Tx
	c   Caller
	p   RunPush
	now time.Time

	vouched bool // the server sees that the branch has the commit

	out      RunAnswer
	needed   []SpaceKey
	baseline *Run
	first    bool // no run of this repository and branch was tracked before
	fresh    []drift.Finding
	elements map[string]Element // by folded key
	verdicts map[uuid.UUID]evidence.Verdict
	records  map[uuid.UUID]*Record
	known    map[uuid.UUID]map[int]EvidenceState // of the claims that verdicts are about, before this run
	owedTo   map[uuid.UUID]bool                  // memories doubted by this run already
	inOrder  []*Record                           // see ordered
	texts    map[uuid.UUID]string                // of the records, in lower case
	speaking map[uuid.UUID]map[uuid.UUID]bool    // by element: the records that speak of it
}

func (w *runWrite) run() error {
	w.out = RunAnswer{RunID: newID().String(), NewFindings: []string{}, Stamped: []string{}, Doubted: []DoubtedMemory{}, Pitfalls: []KnownPitfall{}, Warnings: []string{}}
	run := Run{
		Project: w.c.Project, Repository: w.p.Repository, Branch: w.p.Branch, Ancestors: w.p.Ancestors, ArrivedAt: w.now,
		Actor: AuthorName(w.c.Agent, w.c.User), Report: whole(w.p.Report),
	}
	run.ID = uuid.MustParse(w.out.RunID)
	if err := w.place(&run); err != nil || w.out.Repeated {
		return err
	}
	effective := run.Tracked && !run.Late
	if effective && w.p.Model != nil {
		if err := w.importModel(run.ID); err != nil {
			return err
		}
	}
	if err := w.load(); err != nil {
		return err
	}
	if effective {
		if err := w.take(run.ID); err != nil {
			return err
		}
	} else if !run.Late {
		if err := w.foresee(); err != nil {
			return err
		}
	}
	run.Late, run.New, run.Doubted = w.out.Late, len(w.out.NewFindings), len(w.out.Doubted)
	return w.store(run)
}

// place finds where the run stands: the same one again, its baseline, whether it is late, and whether it may have effects.
func (w *runWrite) place(run *Run) error {
	settings, err := w.tx.DriftSettings(w.ctx, w.c.Project)
	if err != nil {
		return err
	}
	tracked := cmp.Or(settings.TrackedBranch, w.p.DefaultBranch)
	switch {
	case !w.p.Tracked:
	case w.p.Branch == "" || w.p.Branch != tracked:
		w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("the run is of %s, and the tracked branch is %s: it changes nothing", orDetached(w.p.Branch), orUnknown(tracked)))
	case !w.c.mayTrack() && !w.vouched:
		w.out.Warnings = append(w.out.Warnings, "this token may not speak for the tracked branch, and the server cannot see the commit on it, so the run "+
			"changes nothing: make one with stele token create --role ci --tracked")
	default:
		run.Tracked = true
	}
	w.out.Tracked = run.Tracked
	same, found, err := w.tx.SameRun(w.ctx, *run)
	if err != nil {
		return err
	}
	if found {
		if err := json.Unmarshal(same.Answer, &w.out); err != nil {
			return err
		}
		w.out.Repeated = true
		return nil
	}
	runs, err := w.tx.TrackedRuns(w.ctx, w.c.Project, w.p.Repository, cmp.Or(tracked, w.p.Branch), w.p.Ancestors)
	if err != nil {
		return err
	}
	baseline, late := w.p.baselineOf(runs)
	w.baseline, w.first = baseline, len(runs) == 0
	run.Late = late && run.Tracked
	w.out.Late = run.Late
	if baseline != nil {
		w.out.Baseline = baseline.Report.Commit
	}
	w.fresh = w.p.fresh(baseline)
	for _, f := range w.fresh {
		w.out.NewFindings = append(w.out.NewFindings, f.Fingerprint)
	}
	return nil
}

func orDetached(branch string) string { return cmp.Or(branch, "a detached head") }

func orUnknown(branch string) string {
	return cmp.Or(branch, "not known: send default_branch, or set it with stele drift settings")
}

// importModel makes the model that was compared the project's. One that would drop many elements waits for a person.
func (w *runWrite) importModel(run uuid.UUID) error {
	im := ModelImport{Model: w.p.Model, Bindings: w.p.Bindings, Source: w.p.Source}
	if len(im.Model.Elements) == 0 {
		w.out.Warnings = append(w.out.Warnings, "the model that was compared has no element: the project keeps its own")
		return nil
	}
	change, report, err := w.planModel(w.ctx, w.tx, w.c, im)
	if err != nil {
		return err
	}
	before, err := w.tx.Elements(w.ctx, w.c.Project, false)
	if err != nil {
		return err
	}
	if float64(len(change.Removed)) > heldShare*float64(len(before)) {
		held := HeldModel{ID: newID().String(), RunID: run.String(), HeldAt: w.now, Actor: AuthorName(w.c.Agent, w.c.User), Removed: []string{}, Elements: len(before)}
		for _, r := range report.Removed {
			held.Removed = append(held.Removed, r.Key)
		}
		slices.Sort(held.Removed)
		w.out.Held = &held
		w.out.Warnings = append(w.out.Warnings, fmt.Sprintf("the model would drop %d of %d elements: it waits for a reviewer (stele model held)", len(held.Removed), held.Elements))
		return w.tx.HoldModel(w.ctx, w.c.Project, held, im)
	}
	digest, err := im.digest()
	if err != nil {
		return err
	}
	imported, needed, err := w.Service.importModel(w.ctx, w.tx, w.c, im, digest)
	if err != nil {
		w.needed = needed
		return err
	}
	w.out.Imported = &imported
	return nil
}

// load reads what the effects are decided by: elements by key, and the memories that verdicts are about.
func (w *runWrite) load() error {
	elements, err := w.tx.Elements(w.ctx, w.c.Project, false)
	if err != nil {
		return err
	}
	w.elements = make(map[string]Element, len(elements))
	for _, e := range elements {
		w.elements[c4model.FoldKey(e.Key)] = e
	}
	w.verdicts, w.records, w.owedTo = map[uuid.UUID]evidence.Verdict{}, map[uuid.UUID]*Record{}, map[uuid.UUID]bool{}
	watched, err := w.watched()
	if err != nil {
		return err
	}
	for _, v := range w.p.Verdicts {
		if id, err := uuid.Parse(v.ID); err == nil && watched[id] {
			if w.records[id].Scope == Personal {
				v.Claims = nil // the watch list tells none of its words, so nobody guesses them either
			}
			w.verdicts[id] = v
		}
	}
	w.known, err = w.tx.EvidenceOf(w.ctx, slices.Collect(maps.Keys(w.verdicts)), evidence.Version)
	return err
}

// watched are the memories that a run may say something about, so that nobody judges others.
func (w *runWrite) watched() (map[uuid.UUID]bool, error) {
	out := map[uuid.UUID]bool{}
	after := uuid.Nil
	for {
		ids, err := w.tx.Watched(w.ctx, w.c.Project, after, watchPage)
		if err != nil {
			return nil, err
		}
		for chunk := range slices.Chunk(ids, 500) { // bounds what is decrypted at once
			records, err := w.tx.Records(w.ctx, chunk)
			if err != nil {
				return nil, err
			}
			for i := range records {
				out[records[i].ID] = true
				w.records[records[i].ID] = &records[i]
			}
		}
		if len(ids) < watchPage {
			return out, nil
		}
		after = ids[len(ids)-1]
	}
}

// take applies a tracked run: stamps and what they put in doubt, dependencies, evidence, rewritten code, and what went away.
func (w *runWrite) take(run uuid.UUID) error {
	stamps := w.stamps(run)
	if err := w.tx.AddStamps(w.ctx, w.c.Project, stamps); err != nil {
		return err
	}
	excused := map[Stamp][]uuid.UUID{} // what one commit did to many elements is asked once
	for _, st := range stamps {
		event := Stamp{Commit: st.Commit, Moved: st.Moved}
		ids, ok := excused[event]
		if !ok {
			ids = w.excused(st)
			excused[event] = ids
		}
		if err := w.tx.Excuse(w.ctx, st.ID, ids); err != nil {
			return err
		}
	}
	keys := make(map[uuid.UUID]string, len(w.elements))
	for _, e := range w.elements {
		keys[e.ID] = e.Key
	}
	for _, st := range stamps {
		w.out.Stamped = append(w.out.Stamped, keys[st.Element])
	}
	slices.Sort(w.out.Stamped)
	w.out.Stamped = slices.Compact(w.out.Stamped)
	if w.p.Owners != nil {
		if err := w.tx.SaveOwners(w.ctx, w.c.Project, w.p.Repository, w.p.Owners); err != nil {
			return err
		}
	}
	if err := w.settleOwed(); err != nil {
		return err
	}
	if err := w.doubtDependencies(); err != nil {
		return err
	}
	if err := w.judgeEvidence(); err != nil {
		return err
	}
	if err := w.withdraw(); err != nil {
		return err
	}
	if err := w.judgeRewrites(); err != nil {
		return err
	}
	return w.follow()
}

// stamps are the events of this run on elements. What concerns two elements stamps neither.
func (w *runWrite) stamps(run uuid.UUID) []Stamp {
	var out []Stamp
	renamings := renamings(w.fresh)
	for _, f := range w.fresh {
		if f.Check != drift.Existence && f.Check != drift.LanguageMismatch {
			continue
		}
		at, ok := w.p.happened(f, w.baseline, w.first, w.now)
		e, known := w.elements[c4model.FoldKey(f.Element)]
		if !ok || !known {
			continue
		}
		out = append(out, Stamp{
			ID: newID(), Run: run, Element: e.ID, At: at, Fingerprint: f.Fingerprint, Commit: f.Since.Commit, Reason: words(f), Moved: f.Outcome == drift.Moved,
			Origin: originOf(f, renamings),
		})
	}
	return out
}

// excused are the memories that were written knowing what a stamp stands for: on the files as they are now, on a commit that
// contains the breaking one, or, where files only moved, with evidence that still holds.
func (w *runWrite) excused(st Stamp) []uuid.UUID {
	var out []uuid.UUID
	for id, v := range w.verdicts {
		if w.knew(id, v, st.Commit) || st.Moved && w.evidenceHolds(id, v) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// knew tells whether a memory was written knowing what a commit did: with the files as they are now, or on a commit that contains
// it.
func (w *runWrite) knew(id uuid.UUID, v evidence.Verdict, breaking string) bool {
	return w.asSeen(id, v) || slices.Contains(v.Contains, breaking)
}

// asSeen tells whether the files of the memory are what they were when it was written.
func (w *runWrite) asSeen(id uuid.UUID, v evidence.Verdict) bool {
	r := w.records[id]
	return v.AsSeen || v.Tree != "" && r != nil && r.Seen != nil && v.Tree == r.Seen.Tree
}

// evidenceHolds tells whether the code supports something the memory says, and lacks nothing that it supported before.
func (w *runWrite) evidenceHolds(id uuid.UUID, v evidence.Verdict) bool {
	holds := false
	for i, c := range v.Claims {
		switch c.State {
		case evidence.Gone:
			if w.known[id][i].State == evidenceHeld {
				return false
			}
		case evidence.Holds, evidence.Moved:
			holds = holds || c.Evidence || w.known[id][i].State == evidenceHeld
		case evidence.NeverFound:
		}
	}
	return holds
}

// evidenceLost tells whether the code lacks something of the memory that it supported before.
func (w *runWrite) evidenceLost(id uuid.UUID, v evidence.Verdict) bool {
	for i, c := range v.Claims {
		if lost(c, w.known[id][i].State, v.SeenIn) {
			return true
		}
	}
	return false
}

// lost tells whether a claim is evidence that is gone: a run found it, or the code declared it where the memory was written. What
// was so on a branch that is not merged says nothing about the tracked one.
func lost(c evidence.ClaimVerdict, before string, merged bool) bool {
	return c.State == evidence.Gone && (before == evidenceHeld || before == "" && c.Evidence && merged)
}

// settleOwed opens the doubts that stamps make.
func (w *runWrite) settleOwed() error {
	owed, err := w.tx.Owed(w.ctx, w.c.Project)
	if err != nil {
		return err
	}
	for _, o := range owed {
		if w.knew(o.Memory, w.verdicts[o.Memory], o.Stamp.Commit) { // attached after the stamp, say
			if err := w.tx.Excuse(w.ctx, o.Stamp.ID, []uuid.UUID{o.Memory}); err != nil {
				return err
			}
			continue
		}
		err := w.doubt(Doubt{Memory: o.Memory, Cause: "drifted", Element: o.Stamp.Element, Since: w.now, Reason: o.Stamp.Reason, Stamp: o.Stamp.ID, Origin: o.Stamp.Origin},
			DoubtedMemory{Handle: o.Handle, Kind: o.Kind, Element: o.ElementKey, Cause: "drifted"}, o.Space)
		if err != nil {
			return err
		}
	}
	return nil
}

// doubt opens one doubt and says so.
func (w *runWrite) doubt(d Doubt, m DoubtedMemory, space int32) error {
	if err := w.tx.OpenDoubt(w.ctx, d); err != nil {
		return err
	}
	w.owedTo[d.Memory] = true
	w.out.Doubted = append(w.out.Doubted, m)
	entry := AuditEntry{At: w.now, Verb: VerbDoubt, Subject: d.Memory, Detail: map[string]string{"cause": d.Cause}}
	if w.tx.Holds(space) {
		entry.Space = space
	}
	return w.tx.Audit(w.ctx, w.c, entry)
}

// doubtDependencies doubts the memories that speak of both ends of a dependency that came or went.
func (w *runWrite) doubtDependencies() error {
	for _, f := range w.fresh {
		if f.Check != drift.AbsentDependency && f.Check != drift.UndocumentedDependency {
			continue
		}
		at, ok := w.p.happened(f, w.baseline, w.first, w.now)
		a, okA := w.elements[c4model.FoldKey(f.Element)]
		b, okB := w.elements[c4model.FoldKey(f.Subject)]
		if !ok || !okA || !okB {
			continue
		}
		for _, r := range w.ordered() {
			if !r.ConfirmedAt.Before(at) || w.knew(r.ID, w.verdicts[r.ID], f.Since.Commit) || !w.speaksOf(r, a) || !w.speaksOf(r, b) {
				continue
			}
			err := w.doubt(Doubt{Memory: r.ID, Cause: "drifted", Element: a.ID, Since: w.now, Reason: words(f), Origin: originOf(f, nil)},
				DoubtedMemory{Handle: r.Handle, Kind: r.Kind, Element: a.Key, Cause: "drifted"}, r.Space)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ordered are the watched memories by handle, so that the same run always answers the same.
func (w *runWrite) ordered() []*Record {
	if w.inOrder == nil {
		w.inOrder = slices.SortedFunc(maps.Values(w.records), func(a, b *Record) int { return strings.Compare(a.Handle, b.Handle) })
	}
	return w.inOrder
}

// speaksOf tells whether a memory is attached to an element or names it: its key, or its name as a whole word. A run has
// thousands of memories and may have as many findings, so all memories are asked about an element at once, and only once.
func (w *runWrite) speaksOf(r *Record, e Element) bool {
	known, ok := w.speaking[e.ID]
	if ok {
		return known[r.ID]
	}
	if w.speaking == nil {
		w.speaking, w.texts = map[uuid.UUID]map[uuid.UUID]bool{}, make(map[uuid.UUID]string, len(w.records))
		for _, r := range w.records {
			w.texts[r.ID] = strings.ToLower(r.Title + "\n" + r.Content + "\n" + r.Why)
		}
	}
	known = map[uuid.UUID]bool{}
	const short = 3 // shorter names are words of other meaning too often
	names := slices.DeleteFunc([]string{strings.ToLower(e.Key), strings.ToLower(e.Name)}, func(name string) bool { return len(name) <= short })
	for _, r := range w.records {
		known[r.ID] = slices.ContainsFunc(r.Elements, func(ref ElementRef) bool { return ref.ID == e.ID }) ||
			slices.ContainsFunc(names, func(name string) bool { return holdsWord(w.texts[r.ID], name) })
	}
	w.speaking[e.ID] = known
	return known[r.ID]
}

// holdsWord tells whether a name stands in a text, with neither a letter nor a digit around it.
func holdsWord(text, name string) bool {
	within := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	for at := 0; ; {
		found := strings.Index(text[at:], name)
		if found < 0 {
			return false
		}
		from, to := at+found, at+found+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		after, _ := utf8.DecodeRuneInString(text[to:])
		if !within(before) && !within(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[from:])
		at = from + size
	}
}

// judgeEvidence compares the verdicts on claims with what is known of them: found for the first time, gone, or back.
func (w *runWrite) judgeEvidence() error {
	for _, r := range w.ordered() {
		if v, ok := w.verdicts[r.ID]; ok {
			if err := w.judgeClaims(r, v, w.known[r.ID]); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeRewrites counts what was rewritten, when it is known which doubts ended: rewritten code is a reason where there is no other.
func (w *runWrite) judgeRewrites() error {
	open, err := w.tx.OpenDoubts(w.ctx, slices.Collect(maps.Keys(w.verdicts)))
	if err != nil {
		return err
	}
	for _, r := range w.ordered() {
		if v, ok := w.verdicts[r.ID]; ok {
			if err := w.judgeRewrite(r, v, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeClaims takes the verdicts by their place in the memory's own list of claims; one about another text is not heard. A claim
// becomes evidence where the code declares what it names: a name that is only used or mentioned comes and goes without any
// meaning. From then on it is held for as long as it is there at all.
func (w *runWrite) judgeClaims(r *Record, v evidence.Verdict, known map[int]EvidenceState) error {
	claims := r.claims()
	states := map[int]EvidenceState{}
	var gone []string
	var origin string
	for i, verdict := range v.Claims {
		if i >= len(claims) || claims[i].Text != verdict.Text {
			break
		}
		before := known[i].State
		switch verdict.State {
		case evidence.Holds, evidence.Moved:
			// What was gone when somebody confirmed the memory counts again where a run finds it, not where it once was.
			if found := verdict.State == evidence.Holds; verdict.Evidence && (found || before != evidenceForgotten) || before == evidenceHeld || before == evidenceGone {
				states[i] = EvidenceState{State: evidenceHeld, FoundIn: firstPaths(verdict.Now)}
			}
		case evidence.Gone:
			if lost(verdict, before, v.SeenIn) {
				states[i] = EvidenceState{State: evidenceGone, FoundIn: firstPaths(verdict.Before)}
				gone = append(gone, clip(Line(verdict.String()), 400))
				origin = cmp.Or(origin, originOfClaim(verdict))
			}
		case evidence.NeverFound:
		}
	}
	if len(states) > 0 {
		if err := w.tx.SaveEvidence(w.ctx, r.ID, r.Revision, evidence.Version, states); err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return w.doubt(Doubt{Memory: r.ID, Cause: "evidence_gone", Since: w.now, Reason: strings.Join(gone, "; "), Origin: origin},
		DoubtedMemory{Handle: r.Handle, Kind: r.Kind, Cause: "evidence_gone", Element: w.firstElement(r)}, r.Space)
}

// claims are what the memory says about code, in order. The text is its title, content and reason.
func (r *Record) claims() []evidence.Claim {
	if r.Unreadable() {
		return nil
	}
	return evidence.Claims(r.Title + "\n\n" + r.Content + "\n\n" + r.Why)
}

// firstElement is the key of an element of this project that a memory is attached to. What other projects have to do with it is
// not for this one's runs to tell.
func (w *runWrite) firstElement(r *Record) string {
	for _, e := range r.Elements {
		if e.Of == w.c.Project {
			return e.Key
		}
	}
	return ""
}

// firstPaths bounds and cleans the paths that are kept of a verdict.
func firstPaths(paths []string) []string {
	const most = 10
	out := []string{}
	for _, p := range paths {
		if clean, err := CleanPath("now", p); err == nil && len(out) < most {
			out = append(out, clean)
		}
	}
	return out
}

// rewritten is the percentage of the lines a memory was written about that are gone. What its writer had is no measure for the
// tracked branch before it is merged.
func (w *runWrite) rewritten(id uuid.UUID, v evidence.Verdict) int {
	if v.Rewrite == nil || !v.SeenIn || w.asSeen(id, v) {
		return 0
	}
	return v.Rewrite.Percent()
}

// tooMuch tells whether so many percent of the lines gone put a memory in doubt.
func (w *runWrite) tooMuch(percent int) bool { return w.rewriteDoubt > 0 && percent >= w.rewriteDoubt }

// judgeRewrite doubts a memory when half of the code it is about is gone, once for what it was last confirmed against. One that is
// in doubt already needs no second reason: it is read by a person anyway.
func (w *runWrite) judgeRewrite(r *Record, v evidence.Verdict, open []OpenDoubt) error {
	percent := w.rewritten(r.ID, v)
	if err := w.tx.SetChanged(w.ctx, r.ID, percent); err != nil {
		return err
	}
	if !w.tooMuch(percent) || w.owedTo[r.ID] || slices.ContainsFunc(open, func(d OpenDoubt) bool { return d.Memory == r.ID }) {
		return nil
	}
	reason := fmt.Sprintf("%d of the %d lines it was written about are gone (%d %%)", v.Rewrite.Gone, v.Rewrite.Lines, percent)
	if v.Rewrite.Commit != nil {
		reason += ", most in " + Line(v.Rewrite.Commit.String())
	}
	return w.doubt(Doubt{Memory: r.ID, Cause: "rewritten", Since: w.now, Reason: clip(reason, 400), Origin: originOfRewrite(v.Rewrite)},
		DoubtedMemory{Handle: r.Handle, Kind: r.Kind, Cause: "rewritten", Element: w.firstElement(r)}, r.Space)
}

// withdraw closes the doubts whose reason went away: the files are again what the memory was written about, the claim is back,
// less than half of the code is gone, or the files only moved and the model has followed them.
func (w *runWrite) withdraw() error {
	ids := make([]uuid.UUID, 0, len(w.records))
	for id := range w.records {
		ids = append(ids, id)
	}
	open, err := w.tx.OpenDoubts(w.ctx, ids)
	if err != nil {
		return err
	}
	known, err := w.tx.EvidenceOf(w.ctx, ids, evidence.Version)
	if err != nil {
		return err
	}
	there := w.there()
	var closed []uuid.UUID
	for _, d := range open {
		v, judged := w.verdicts[d.Memory]
		gone := false
		for _, state := range known[d.Memory] {
			gone = gone || state.State == evidenceGone
		}
		restored, over := w.restored(d.Memory, v), false
		switch d.Cause {
		case "evidence_gone":
			over = !gone
		case "rewritten":
			over = restored || v.Rewrite != nil && v.SeenIn && !w.tooMuch(w.rewritten(d.Memory, v))
		case "drifted":
			over = restored || d.Moved && there[d.Element] && !gone
		}
		if judged && over {
			closed = append(closed, d.ID)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	w.out.Withdrawn = len(closed)
	return w.tx.Withdraw(w.ctx, closed, w.now)
}

// restored tells whether the files of a memory are again what they were when it was written. That a binding matches nothing now,
// and would have matched nothing then, does not make them so.
func (w *runWrite) restored(id uuid.UUID, v evidence.Verdict) bool {
	r := w.records[id]
	return w.asSeen(id, v) && (v.Tree != evidence.EmptyTree || r != nil && r.Seen != nil && r.Seen.Tree == v.Tree)
}

// there are the elements of the model that no finding misses, waived or not.
func (w *runWrite) there() map[uuid.UUID]bool {
	out := map[uuid.UUID]bool{}
	if w.p.Report.Status != drift.Checked {
		return out
	}
	missed := map[string]bool{}
	miss := func(f drift.Finding) {
		if f.Check == drift.Existence {
			missed[c4model.FoldKey(f.Element)] = true
		}
	}
	for _, f := range w.p.Report.Findings {
		miss(f)
	}
	for _, f := range w.p.Report.Waived {
		miss(f.Finding)
	}
	for key, e := range w.elements {
		out[e.ID] = !missed[key]
	}
	return out
}

// follow lets what the writers of memories had on other lines of history be measured on the tracked branch, once that has the
// very same files: after a squash, say, its commits do not contain theirs.
func (w *runWrite) follow() error {
	for _, r := range w.ordered() {
		v, judged := w.verdicts[r.ID]
		if !judged || r.Seen == nil || v.SeenIn || !w.asSeen(r.ID, v) {
			continue
		}
		if err := w.tx.SeeAt(w.ctx, r.ID, w.p.Report.Commit, w.p.Branch); err != nil {
			return err
		}
	}
	return nil
}

// foresee says which memories an untracked run would put in doubt, and changes nothing.
func (w *runWrite) foresee() error {
	open, err := w.tx.OpenDoubts(w.ctx, slices.Collect(maps.Keys(w.verdicts)))
	if err != nil {
		return err
	}
	for _, f := range w.fresh {
		at, event := w.p.happened(f, w.baseline, w.first, w.now)
		e, ok := w.elements[c4model.FoldKey(f.Element)]
		if !ok || !event {
			continue
		}
		other, edge := w.elements[c4model.FoldKey(f.Subject)]
		for _, r := range w.ordered() {
			concerned := slices.ContainsFunc(r.Elements, func(ref ElementRef) bool { return ref.ID == e.ID })
			switch f.Check {
			case drift.Existence, drift.LanguageMismatch:
			case drift.AbsentDependency, drift.UndocumentedDependency:
				concerned = edge && w.speaksOf(r, e) && w.speaksOf(r, other)
			case drift.UndocumentedCode, drift.AmbiguousBinding, drift.DanglingReference:
				concerned = false
			}
			v := w.verdicts[r.ID]
			if concerned && !w.owedTo[r.ID] && r.ConfirmedAt.Before(at) && !w.knew(r.ID, v, f.Since.Commit) && (f.Outcome != drift.Moved || !w.evidenceHolds(r.ID, v)) {
				w.owedTo[r.ID] = true
				w.out.Doubted = append(w.out.Doubted, DoubtedMemory{Handle: r.Handle, Kind: r.Kind, Element: e.Key, Cause: "drifted"})
			}
		}
	}
	for _, r := range w.ordered() {
		v, ok := w.verdicts[r.ID]
		if !ok || w.owedTo[r.ID] {
			continue
		}
		var cause string
		switch {
		case w.evidenceLost(r.ID, v):
			cause = "evidence_gone"
		case w.tooMuch(w.rewritten(r.ID, v)) && !slices.ContainsFunc(open, func(d OpenDoubt) bool { return d.Memory == r.ID }):
			cause = "rewritten"
		default:
			continue
		}
		w.out.Doubted = append(w.out.Doubted, DoubtedMemory{Handle: r.Handle, Kind: r.Kind, Element: w.firstElement(r), Cause: cause})
	}
	return nil
}

// store keeps the run with its answer.
func (w *runWrite) store(run Run) error {
	answer, err := json.Marshal(w.out)
	if err != nil {
		return err
	}
	run.Answer = answer
	if err := w.tx.SaveRun(w.ctx, run); err != nil {
		return err
	}
	space := w.tx.Space(SpaceKey{Project, w.c.Project.String()})
	return w.tx.Audit(w.ctx, w.c, AuditEntry{At: w.now, Verb: VerbPushRun, Subject: run.ID, Space: space.ID})
}

// DecideModel lets the model that waits become the project's, or refuses it.
func (s *Service) DecideModel(ctx context.Context, c Caller, accept bool) (HeldModel, error) {
	if !c.mayReview() {
		return HeldModel{}, problem.New(problem.Forbidden, "", "deciding about a model needs the reviewer role", "use a token of role reviewer")
	}
	spaces := []SpaceKey{{Project, c.Project.String()}}
	var out HeldModel
	for range maxImportRounds {
		var needed []SpaceKey
		err := s.write(ctx, c, spaces, func(tx Tx) error {
			held, im, found, err := tx.Held(ctx, c.Project)
			switch {
			case err != nil:
				return err
			case !found:
				return problem.New(problem.NotFound, "model", "no model waits for a decision", "see stele model show")
			}
			now := s.now()
			held.DecidedAt = &now
			out = held
			if accept {
				digest, err := im.digest()
				if err != nil {
					return err
				}
				if _, needed, err = s.importModel(ctx, tx, c, im, digest); err != nil {
					return err
				}
			}
			return tx.DecideModel(ctx, c.Project, accept, AuthorName(c.Agent, c.User), now)
		})
		if err == nil || len(needed) == 0 {
			return out, wrap("decide about model", err)
		}
		spaces = append(spaces, needed...)
	}
	return HeldModel{}, problem.New(problem.Conflict, "", "memories on the elements kept appearing in further places", "try again")
}
