package drift

import (
	"math"
	"slices"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/config"
)

// Score is floor(100 × passed ÷ weight), at least 1 when anything passes, so that 0 means that nothing does. weight is not 0.
func Score(passed, weight int) int {
	s := 100 * passed / weight
	if s == 0 && passed > 0 {
		return 1
	}
	return s
}

// tally adds up checks.
type tally struct{ passed, weight int }

func (t *tally) add(c check) {
	t.weight += c.weight
	if c.pass {
		t.passed += c.weight
	}
}

// points is the score before it is cut to an integer.
func (t *tally) points() float64 {
	if t.weight == 0 {
		return 100
	}
	return 100 * float64(t.passed) / float64(t.weight)
}

// settle applies the waivers, then fills the parts of a report that follow from the checks: score, levels, elements,
// findings, waived. A waived check leaves both sides of the fraction, with those it speaks for.
func (ev *evaluation) settle(r *Report) {
	waived := map[string]config.Waiver{}
	for _, w := range ev.in.Waivers {
		if ev.in.On.Before(w.Expires) {
			waived[w.Fingerprint] = w
		}
	}
	used := map[string]bool{}
	excused := map[int]bool{} // elements whose existence findings are all waived
	for i := range ev.checks {
		f := ev.checks[i].finding
		if f == nil {
			continue
		}
		f.Fingerprint = fingerprint(f.Check, f.Element, f.Subject)
		f.Weight = ev.checks[i].weight
	}
	for i := range ev.el.all {
		excused[i] = ev.gone[i] && ev.excused(i, waived)
	}
	var kept []check
	for _, c := range ev.checks {
		if c.finding != nil {
			if w, ok := waived[c.finding.Fingerprint]; ok {
				used[c.finding.Fingerprint] = true
				r.Waived = append(r.Waived, WaivedFinding{Finding: *c.finding, WaiverReason: w.Reason, Expires: w.Expires.Format(time.DateOnly)})
				continue
			}
		}
		if slices.ContainsFunc(c.spokenBy, func(i int) bool { return excused[i] }) {
			continue
		}
		kept = append(kept, c)
	}
	for _, w := range ev.in.Waivers {
		switch {
		case !ev.in.On.Before(w.Expires):
			r.Warnings = append(r.Warnings, "the waiver of "+w.Fingerprint+" expired on "+w.Expires.Format(time.DateOnly)+" ("+w.Reason+")")
		case !used[w.Fingerprint]:
			r.Warnings = append(r.Warnings, "the waiver of "+w.Fingerprint+" is stale: no such finding is left ("+w.Reason+")")
		}
	}
	ev.count(r, kept)
}

// excused tells whether every binding that speaks for a missing element is waived.
func (ev *evaluation) excused(i int, waived map[string]config.Waiver) bool {
	for at, e := range ev.el.all {
		if !ev.el.inside(at, i) {
			continue
		}
		for _, b := range ev.el.bindings[at] {
			if _, ok := waived[fingerprint(Existence, e.Key, ev.in.Bindings[b].Pattern)]; !ok {
				return false
			}
		}
	}
	return true
}

// count adds the checks up and says of each finding what fixing it is worth.
func (ev *evaluation) count(r *Report, kept []check) {
	var all tally
	levels, elements := map[string]*tally{}, map[string]*tally{}
	in := func(m map[string]*tally, key string, c check) {
		if m[key] == nil {
			m[key] = &tally{}
		}
		m[key].add(c)
	}
	behind := map[int]int{} // weight of the checks that a missing element speaks for
	for _, c := range kept {
		all.add(c)
		if c.element >= 0 {
			in(levels, string(ev.el.all[c.element].Level), c)
			in(elements, ev.el.all[c.element].Key, c)
		}
		if len(c.spokenBy) == 1 {
			behind[c.spokenBy[0]] += c.weight
		}
	}
	r.Levels, r.Elements = finish(levels), finish(elements)
	r.Passed, r.Weight = all.passed, all.weight
	if all.weight > 0 {
		s := Score(all.passed, all.weight)
		r.Score = &s
	}
	for _, c := range kept {
		if c.finding == nil {
			continue
		}
		fixed := tally{all.passed + c.weight, all.weight}
		if c.vanishes {
			fixed = tally{all.passed, all.weight - c.weight}
		}
		if c.finding.Check == Existence && ev.gone[c.element] && len(ev.el.bindings[c.element]) == 1 {
			fixed.passed += behind[c.element]
		}
		const tenths = 10
		c.finding.Gain = math.Round(tenths*(fixed.points()-all.points())) / tenths
		r.Findings = append(r.Findings, *c.finding)
	}
	sortFindings(r.Findings)
	slices.SortFunc(r.Waived, func(a, b WaivedFinding) int { return compareFindings(a.Finding, b.Finding) })
}

func finish(m map[string]*tally) map[string]Tally {
	out := make(map[string]Tally, len(m))
	for key, t := range m {
		out[key] = Tally{Score: Score(t.passed, t.weight), Passed: t.passed, Weight: t.weight}
	}
	return out
}

// total fills what is counted in elements.
func (ev *evaluation) total(r *Report) {
	drifted := map[string]bool{}
	missing := map[string]bool{}
	for _, f := range r.Findings {
		switch f.Check {
		case UndocumentedCode, UndocumentedDependency:
			r.Totals.NewInCode++
		case Existence:
			missing[c4model.FoldKey(f.Element)] = true
		case LanguageMismatch, AbsentDependency, AmbiguousBinding, DanglingReference:
		}
		if _, ok := ev.el.byKey[c4model.FoldKey(f.Element)]; ok && f.Element != "" {
			drifted[c4model.FoldKey(f.Element)] = true
		}
	}
	r.Totals.MissingInCode, r.Totals.Drifted = len(missing), len(drifted)
	bound, counted := 0, 0
	r.None = map[string]string{}
	for i, e := range ev.el.all {
		if !ev.el.inScope[i] {
			continue
		}
		r.Totals.Elements++
		switch {
		case ev.el.none[i] != "":
			r.None[e.Key] = ev.el.none[i]
			continue
		case ev.el.bound[i]:
			bound++
			if !missing[c4model.FoldKey(e.Key)] && !ev.gone[i] {
				r.Totals.Matched++
			}
		default:
			r.Unbound = append(r.Unbound, e.Key)
		}
		counted++
	}
	slices.Sort(r.Unbound)
	if counted > 0 {
		c := 100 * bound / counted
		r.Coverage = &c
	}
	for _, f := range ev.fs.all {
		owned := len(f.owners) > 0
		if f.source() && !supporting[f.language] && !f.test && (owned || ev.expected(f)) {
			r.Files.Source++
			if owned {
				r.Files.Owned++
			}
		}
	}
}
