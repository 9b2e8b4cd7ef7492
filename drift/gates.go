package drift

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
)

// Gates are what a run has to hold to pass. The zero Gates let everything pass.
type Gates struct {
	MinScore     *int // 0 to 100
	MinCoverage  *int // 0 to 100
	MaxDrop      *int // points below the base, 0 to 100
	FailOnNew    bool // no finding that the base does not have
	RequireModel bool // there is a model to compare, and something in it that can be compared
	// AllowUnchecked lets the gates pass that could not be evaluated, because the commit or its base was not checked.
	AllowUnchecked bool
}

// GateResult is one gate applied to a run.
type GateResult struct {
	Gate   string `json:"gate"` // min-score, min-coverage, max-drop, fail-on-new, require-model
	Passed bool   `json:"passed"`
	Detail string `json:"detail"` // one line with the figures
}

// Validate refuses thresholds that no run could be held against.
func (g Gates) Validate() error {
	for _, threshold := range []struct {
		name  string
		value *int
	}{{"min-score", g.MinScore}, {"min-coverage", g.MinCoverage}, {"max-drop", g.MaxDrop}} {
		if n := threshold.value; n != nil && (*n < 0 || *n > 100) {
			return problem.Invalidf(threshold.name, "%d is out of range", *n).Fix("give a whole number from 0 to 100")
		}
	}
	if g.RequireModel && g.AllowUnchecked {
		return problem.Invalidf("allow-unchecked", "it contradicts require-model").Fix("keep one of the two")
	}
	return nil
}

// NeedBase tells whether a gate compares with a base.
func (g Gates) NeedBase() bool { return g.MaxDrop != nil || g.FailOnNew }

// Apply holds the gates against a run that was compared with its base. unknown says why there is no base to compare with, ""
// when there is one.
func (g Gates) Apply(r *Report, unknown string) []GateResult {
	results := []GateResult{}
	add := func(gate string, passed bool, format string, args ...any) {
		results = append(results, GateResult{Gate: gate, Passed: passed, Detail: fmt.Sprintf(format, args...)})
	}
	unchecked := ""
	if r.Status != Checked {
		unchecked = "nothing was checked: " + r.Reason
	}
	if unchecked == "" && unknown == "" && r.BaseScore == nil {
		unknown = "the base was not checked"
	}
	one := func(gate string, missing string, passed bool, format string, args ...any) {
		if missing != "" {
			add(gate, g.AllowUnchecked, "%s", missing)
			return
		}
		add(gate, passed, format, args...)
	}
	if g.RequireModel {
		one("require-model", unchecked, true, "there is a model, and it was compared")
	}
	if g.MinScore != nil {
		one("min-score", unchecked, value(r.Score) >= *g.MinScore, "the score is %d, and at least %d is wanted", value(r.Score), *g.MinScore)
	}
	if g.MinCoverage != nil {
		missing := unchecked
		if r.Coverage == nil && missing == "" {
			missing = "there is no coverage: no element of the model is to be bound"
		}
		one("min-coverage", missing, value(r.Coverage) >= *g.MinCoverage, "the coverage is %d, and at least %d is wanted", value(r.Coverage), *g.MinCoverage)
	}
	if unchecked == "" {
		unchecked = unknown
	}
	if g.MaxDrop != nil {
		one("max-drop", unchecked, value(r.BaseScore)-value(r.Score) <= *g.MaxDrop, "the score was %d and is %d, and may drop by %d", value(r.BaseScore), value(r.Score), *g.MaxDrop)
	}
	if g.FailOnNew {
		var fresh []string
		for _, f := range r.Findings {
			if f.New {
				fresh = append(fresh, f.Fingerprint)
			}
		}
		detail := "no finding is new"
		if len(fresh) > 0 {
			const shown = 5
			detail = times(len(fresh), "new finding") + ": " + strings.Join(fresh[:min(len(fresh), shown)], ", ")
			if len(fresh) > shown {
				detail += " and more"
			}
		}
		one("fail-on-new", unchecked, len(fresh) == 0, "%s", detail)
	}
	return results
}

// Passed tells whether every gate did.
func Passed(results []GateResult) bool {
	for _, r := range results {
		if !r.Passed {
			return false
		}
	}
	return true
}

// value is the number behind a pointer, 0 for none.
func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
