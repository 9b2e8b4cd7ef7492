package memory

import (
	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
)

// The states of an element on the map.
const (
	stateUnknown = "unknown" // no run of the tracked branch speaks of it
	stateMatched = "matched"
	stateUnbound = "unbound" // nothing says which code it is
	stateDrifted = "drifted" // a finding names it
	stateMissing = "missing" // its files are gone
)

// driftStates says how each element stands by the latest tracked run of each repository, by folded key. The worst that a run
// says counts; unbound counts only where no repository has its code.
func driftStates(elements []Element, runs []Run) map[string]DriftState {
	rank := map[string]int{stateUnknown: 0, stateUnbound: 1, stateMatched: 2, stateDrifted: 3, stateMissing: 4}
	out := make(map[string]DriftState, len(elements))
	parent := make(map[string]string, len(elements))
	for _, e := range elements {
		out[c4model.FoldKey(e.Key)] = DriftState{State: stateUnknown}
		parent[c4model.FoldKey(e.Key)] = c4model.FoldKey(e.Parent)
	}
	raise := func(key, state string) {
		if now, ok := out[key]; ok && rank[state] > rank[now.State] {
			now.State = state
			out[key] = now
		}
	}
	for _, r := range runs {
		if r.Report.Status != drift.Checked {
			continue
		}
		for _, key := range r.Report.Unbound {
			raise(c4model.FoldKey(key), stateUnbound)
		}
		for key := range r.Report.None {
			raise(c4model.FoldKey(key), stateUnbound)
		}
		for key := range r.Report.Elements { // what is compared speaks for what it lies in
			for at := c4model.FoldKey(key); at != ""; at = parent[at] {
				raise(at, stateMatched)
			}
		}
		for _, f := range r.Report.Findings {
			key := c4model.FoldKey(f.Element)
			state := stateDrifted
			if f.Check == drift.Existence && f.Outcome != drift.Moved {
				state = stateMissing
			}
			raise(key, state)
			if now, ok := out[key]; ok && f.Since != nil && (now.Since == nil || f.Since.Time.Before(*now.Since)) {
				since := f.Since.Time.UTC()
				now.Since = &since
				out[key] = now
			}
		}
	}
	return out
}
