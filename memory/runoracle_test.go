package memory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The oracle of TestRunStateMachine says, from the files of each commit alone, what is in doubt. It knows neither git nor
// fingerprints nor tables.
//
// Where the rules leave a choice it takes what a person would want:
//   - A memory was written against what a commit broke when its line of history broke the same thing, on a branch that was
//     squashed, say; when its bound files are as they are now; or when they are as the breaking commit left them.
//   - What a writer has on a branch that is not merged yet is no measure for the tracked branch: nothing is rewritten there
//     and no quotation gone. Once the tracked branch has the very files that the writer had, it is.
//   - A quotation that the code declared where the memory was written, on the tracked branch, is evidence although no run
//     saw it; one that was gone at a confirmation becomes evidence again when a run finds it.
//   - A doubt about rewritten code ends when more than half of the code is back; one about gone evidence when the evidence
//     is; one about files that moved when the model has followed them, and not when the finding is waived, or the element
//     renamed or removed.
//   - Rewritten code is a reason for doubt where there is no other.
//   - A folder that is empty now because its binding leads elsewhere is not "as it was", although it was empty then, too.
//   - A shallow run counts by the commits it has. When it does not reach back to a run, nothing is an event, and it is the
//     baseline of those after it.
type oracle struct {
	commits  map[string]*snap
	times    map[*snap]time.Time
	designs  map[string]design // by the texts of model and settings
	sources  map[string]source // by text
	memories []*recollection
	runs     []*ran
	stored   design // the project's model
	stamps   int
}

func newOracle() *oracle {
	return &oracle{commits: map[string]*snap{}, times: map[*snap]time.Time{}, designs: map[string]design{}, sources: map[string]source{}}
}

// ran is a run of the tracked branch that had effects.
type ran struct {
	at    *snap
	line  []*snap // as far as it knew
	fails map[string]bool
}

// push is a run as the oracle sees it.
type push struct {
	at      *snap
	line    []*snap
	shallow bool
	here    map[*snap]bool // commits that the repository has
	now     time.Time
}

// baseline is the newest run on the line of a push; late says that a newer commit had a run before.
func (o *oracle) baseline(p push) (base *ran, late bool) {
	for n, r := range slices.Backward(o.runs) {
		if n == len(o.runs)-1 && slices.Index(r.line, p.at) > 0 {
			late = true
		}
		if slices.Contains(p.line, r.at) {
			return r, late
		}
	}
	return nil, late
}

// stamp is an event: code of the tracked branch broke a check.
type stamp struct {
	check
	id       int
	breaking *snap
	at       time.Time
	moved    bool
}

// events are the checks that the code broke since the baseline.
func (o *oracle) events(p push, base *ran) []stamp {
	var out []stamp
	for _, c := range p.at.fails() {
		if strings.Contains(p.at.design.known, c.key(p.at.design)+"\n") || base != nil && base.fails[c.key(p.at.design)] {
			continue
		}
		var breaking *snap
		for n, s := range p.line {
			whole := n+1 < len(p.line) || !p.shallow
			if whole && c.passes(s.first()) && !c.passes(s) {
				breaking = s
				break
			}
		}
		if breaking == nil || !breaking.design.says(c) {
			continue
		}
		st := stamp{check: c, breaking: breaking, at: p.now, moved: !c.language && o.moved(c, breaking, p.at)}
		switch {
		case base == nil && (len(o.runs) > 0 || p.shallow):
			continue
		case base == nil:
			st.at = o.times[breaking]
		case slices.Index(p.line, breaking) >= slices.Index(p.line, base.at):
			continue
		}
		o.stamps++
		st.id = o.stamps
		out = append(out, st)
	}
	return out
}

func (d design) says(c check) bool {
	p := d.plots[c.part]
	return !p.removed && (c.language || p.home == c.home)
}

// moved tells whether most of what a commit took from a folder is elsewhere now.
func (o *oracle) moved(c check, breaking, now *snap) bool {
	before, there, removed := breaking.first(), 0, 0
	for path, text := range before.files {
		if _, stays := breaking.files[path]; stays || !strings.HasPrefix(path, c.home+"/") {
			continue
		}
		removed++
		to := ""
		for other, t := range breaking.files {
			if _, was := before.files[other]; !was && 2*kept(text, t) >= len(telling(text)) && other > to {
				to = other
			}
		}
		if _, ok := now.files[to]; ok || to != "" && now.with(breaking.files[to]) || to == "" && now.with(text) {
			there++
		}
	}
	return 2*there > removed
}

// telling are the lines of a text.
func telling(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func kept(before string, after ...string) int {
	n := 0
	for _, l := range telling(before) {
		if slices.ContainsFunc(after, func(t string) bool { return slices.Contains(telling(t), l) }) {
			n++
		}
	}
	return n
}

// recollection is a memory.
type recollection struct {
	handle    string
	live      bool
	parts     []int
	quotes    int               // the part whose symbol it quotes; -1 for none
	seen      *snap             // commit of its writer; nil when unknown
	had       map[string]string // the bound files, where the writer told them; nil when not
	confirmed time.Time
	disputed  bool
	doubts    map[string]bool // "drifted n", "gone", "rewritten"
	moved     map[string]check
	evidence  string // "", held, gone, forgotten
	where     []string
}

func (r *recollection) String() string {
	var out []string
	if r.disputed {
		out = append(out, "disputed")
	}
	if len(r.doubts) > 0 {
		out = append(out, "verify")
	}
	return strings.Join(out, " ")
}

func (r *recollection) about() string {
	seen := "nothing"
	if r.seen != nil {
		seen = r.seen.id[:7]
	}
	return fmt.Sprintf("of %v, quoting %d (%s), seen %s, tree %t, doubts %v", r.parts, r.quotes, r.evidence, seen, r.had != nil, slices.Sorted(maps.Keys(r.doubts)))
}

// confirm is what holds from a confirmation on.
func (r *recollection) confirm(seen *snap, had map[string]string, now time.Time) {
	r.confirmed, r.disputed, r.doubts = now, false, map[string]bool{}
	if r.evidence == "gone" {
		r.evidence = "forgotten"
	}
	if seen != nil {
		r.seen, r.had = seen, had
	}
}

// as tells whether the bound files of the writer were those of a commit.
func (r *recollection) as(s *snap, homes []string, here map[*snap]bool) bool {
	if len(homes) == 0 {
		return false
	}
	files := s.below(homes)
	return r.had != nil && maps.Equal(r.had, files) || here[r.seen] && maps.Equal(r.seen.below(homes), files)
}

// knew tells whether a memory was written against what an event broke.
func (r *recollection) knew(st stamp, p push, homes []string) bool {
	if r.as(p.at, homes, p.here) || r.as(st.breaking, homes, p.here) {
		return true
	}
	if !here(p, r.seen) {
		return false
	}
	if r.seen.history()[st.breaking] {
		return true
	}
	if st.passes(r.seen) {
		return false
	}
	before := st.breaking.first().history()
	for x := range r.seen.history() {
		if !before[x] && st.passes(x.first()) && !st.passes(x) {
			return true
		}
	}
	return false
}

func here(p push, s *snap) bool { return s != nil && p.here[s] }

// quotation says what became of what a memory quotes.
func (o *oracle) quotation(r *recollection, p push, homes []string) (state string, evidence bool, now []string) {
	within := maps.Clone(p.at.below(homes))
	for _, w := range r.where {
		if text, ok := p.at.files[w]; ok {
			within[w] = text
		}
	}
	if now = o.holders(within, r.quotes); len(now) > 0 {
		return "holds", true, now
	}
	evidence = r.evidence == "held" || here(p, r.seen) && len(o.holders(r.seen.below(homes), r.quotes)) > 0
	now = o.holders(p.at.files, r.quotes)
	switch {
	case !evidence:
		return "never", false, nil
	case len(now) > 0:
		return "moved", true, now
	}
	return "gone", true, nil
}

// take lets a run have its effects, and gives the memories that it puts in doubt.
func (o *oracle) take(p push) []string {
	base, late := o.baseline(p)
	if late {
		return nil
	}
	o.stored = p.at.design
	run := &ran{at: p.at, line: p.line, fails: map[string]bool{}}
	for _, c := range p.at.fails() {
		run.fails[c.key(p.at.design)] = true
	}
	events := o.events(p, base)
	o.runs = append(o.runs, run)
	doubted := []string{}
	for _, r := range o.memories {
		if r.live && o.judge(r, p, events) {
			doubted = append(doubted, r.handle)
		}
	}
	slices.Sort(doubted)
	return doubted
}

// foresee gives the memories that a run would put in doubt, if that can be told: of a commit that no newer run has seen, and in
// the project's own words.
func (o *oracle) foresee(p push) (doubted []string, told bool) {
	base, late := o.baseline(p)
	if late || o.stored.plots != p.at.design.plots {
		return nil, false
	}
	doubted = []string{}
	events := o.events(p, base)
	for _, r := range o.memories {
		copied := *r
		copied.doubts, copied.moved = maps.Clone(r.doubts), maps.Clone(r.moved)
		if r.live && o.judge(&copied, p, events) {
			doubted = append(doubted, r.handle)
		}
	}
	slices.Sort(doubted)
	return doubted, true
}

// judge lets a run have its effects on a memory, and tells whether it came into doubt for another reason.
func (o *oracle) judge(r *recollection, p push, events []stamp) bool {
	homes, before := p.at.design.homes(r.parts), maps.Clone(r.doubts)
	state, evidence, now := "never", false, []string(nil)
	if r.quotes >= 0 {
		state, evidence, now = o.quotation(r, p, homes)
	}
	for _, st := range events {
		knew := r.knew(st, p, homes) || st.moved && evidence && state != "gone" && state != "never"
		if slices.Contains(r.parts, st.part) && r.confirmed.Before(st.at) && !knew {
			d := fmt.Sprint("drifted ", st.id)
			r.doubts[d] = true
			if st.moved {
				r.moved[d] = st.check
			}
		}
	}
	ground := o.ground(r, p, homes) // of the evidence that was known before
	inHistory := here(p, r.seen) && p.at.history()[r.seen]
	switch {
	case state == "holds", state == "moved" && r.evidence != "forgotten":
		r.evidence, r.where = "held", now
		delete(r.doubts, "gone")
	case state == "gone" && (r.evidence == "held" || r.evidence == "" && inHistory):
		r.evidence = "gone"
		r.doubts["gone"] = true
	}
	asSeen := r.as(p.at, homes, p.here)
	rewritten := false
	if inHistory && len(ground) > 0 {
		lines, still := 0, 0
		for _, text := range ground {
			lines += len(telling(text))
			still += kept(text, o.followed(ground, r.seen, p.at)...)
		}
		if rewritten = 2*still <= lines && !asSeen; !rewritten {
			delete(r.doubts, "rewritten")
		}
	}
	restored := asSeen && (r.had != nil && maps.Equal(r.had, p.at.below(homes)) || len(p.at.below(homes)) > 0)
	for d := range r.doubts {
		c, moved := r.moved[d]
		followed := moved && !p.at.design.plots[c.part].removed && check{c.part, p.at.design.plots[c.part].home, false}.passes(p.at)
		if d != "gone" && restored || followed && r.evidence != "gone" {
			delete(r.doubts, d)
		}
	}
	if rewritten && len(r.doubts) == 0 {
		r.doubts["rewritten"] = true
	}
	if asSeen && !inHistory {
		r.seen = p.at
	}
	for d := range r.doubts {
		if !before[d] {
			return true
		}
	}
	return false
}

// ground are the files that a memory was written about, as they were then.
func (o *oracle) ground(r *recollection, p push, homes []string) map[string]string {
	if !here(p, r.seen) {
		return nil
	}
	files := r.seen.below(homes)
	if r.evidence != "held" {
		return files
	}
	held := slices.DeleteFunc(slices.Clone(r.where), func(f string) bool { return r.seen.files[f] == "" })
	if len(held) == 0 {
		held = o.holders(files, r.quotes)
	}
	if len(held) == 0 {
		held = o.holders(r.seen.files, r.quotes)
	}
	out := map[string]string{}
	for _, path := range held {
		out[path] = r.seen.files[path]
	}
	if len(out) == 0 {
		return files
	}
	return out
}

// followed are the texts in which lines of the files that a memory rests on may be now: those of their names, or of the names
// they have now.
func (o *oracle) followed(ground map[string]string, then, now *snap) []string {
	var out []string
	for p, t := range ground {
		if after, ok := now.files[p]; ok {
			out = append(out, after)
			continue
		}
		for other, after := range now.files {
			if _, was := then.files[other]; !was && 2*kept(t, after) >= len(telling(t)) {
				out = append(out, after)
			}
		}
	}
	return out
}
