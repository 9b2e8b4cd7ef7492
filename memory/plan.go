package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

// PlanRequest asks in which order to work on what a task is about.
type PlanRequest struct {
	Task  string `json:"task"`
	Limit int    `json:"limit"` // steps; DefaultPlanLimit when 0
}

// Bounds of plan_work. A plan of more than a few steps is several tasks.
const (
	DefaultPlanLimit = 5
	MaxPlanLimit     = 20
	// planList is how many memories, decisions or neighbours of a kind a step shows.
	planList = 5
)

// PlanResponse is a task in steps, each on an element of the model. It is made from the model and from what is known, by no
// language model: what to write there is for whoever works.
type PlanResponse struct {
	Steps     []PlanStep      `json:"steps"`
	Decisions []BoundDecision `json:"decisions"` // of the whole project, that speak of the task
	Work      []Work          `json:"work"`      // now, on the elements of the steps
	MoreWork  int             `json:"more_work"` // left out of it
	Note      string          `json:"note,omitempty"`
	Degraded  *Degraded       `json:"degraded"`
}

// PlanStep is one element to work on, with what to know before and to look at after.
type PlanStep struct {
	Element   ElementRef      `json:"element"`
	Score     float64         `json:"score"`   // of ContextElement
	Reasons   []string        `json:"reasons"` // why it is part of the task
	Order     string          `json:"order"`   // why it comes here, in words
	Paths     []string        `json:"paths"`
	Verify    []KnownMemory   `json:"verify"`    // in doubt or disputed: to be confirmed or disputed first
	Bound     []KnownMemory   `json:"bound"`     // pitfalls and conventions that hold here
	Decisions []BoundDecision `json:"decisions"` // on the element or on what it lies in
	Check     []Neighbour     `json:"check"`     // depend on it, and are no step themselves
	LeftOut   PlanLeftOut     `json:"left_out"`
}

// BoundDecision is a decision that work has to keep to.
type BoundDecision struct {
	Handle string `json:"handle"` // "ADR-17"
	Title  string `json:"title"`
	Status string `json:"status"`
}

// Neighbour is an element to look at after a change.
type Neighbour struct {
	ElementRef
	Because string `json:"because"` // in words
}

// PlanLeftOut counts what a step did not show.
type PlanLeftOut struct {
	Verify int `json:"verify"`
	Bound  int `json:"bound"`
	Check  int `json:"check"`
}

// Plan puts a task in steps: the elements that Context chooses, what others of them depend on first, each with the decisions,
// conventions and pitfalls that bind it, the doubts to settle first and the neighbours to look at after, and who works there. The
// same question on the same memories has the same answer.
func (s *Service) Plan(ctx context.Context, c Caller, r PlanRequest) (PlanResponse, error) {
	switch {
	case r.Limit == 0:
		r.Limit = DefaultPlanLimit
	case r.Limit < 0 || r.Limit > MaxPlanLimit:
		return PlanResponse{}, problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxPlanLimit).Fix("leave it out for %d", DefaultPlanLimit)
	}
	about := ContextRequest(r)
	if err := about.check(c); err != nil {
		return PlanResponse{}, err
	}
	q := s.readQuery(ctx, RecallRequest{Query: r.Task})
	var out PlanResponse
	var on []uuid.UUID
	err := s.withVectors(ctx, c, func(v View) (int, error) {
		found, err := s.choose(ctx, v, c, q, about)
		if err != nil {
			return 0, err
		}
		p := plan{Service: s, view: v, caller: c}
		err = p.make(ctx, found.Elements, q.terms)
		out, on = p.out, p.on
		out.Degraded = found.Degraded
		return found.lacking, err
	})
	if err == nil {
		out.Work, out.MoreWork, err = s.workOn(ctx, c, on)
	}
	return out, wrap("plan", err)
}

// plan is one plan under way within a transaction.
type plan struct {
	*Service
	view   View
	caller Caller

	graph  graph
	spaces []int32
	out    PlanResponse
	on     []uuid.UUID
}

func (p *plan) make(ctx context.Context, chosen []ContextElement, task []string) error {
	p.out = PlanResponse{Steps: []PlanStep{}, Decisions: []BoundDecision{}}
	if len(chosen) == 0 {
		p.out.Note = "no element of the model has anything to do with this task"
		return nil
	}
	keys := p.caller.spaceKeys()
	spaces, err := p.view.Spaces(ctx, keys)
	if err != nil {
		return err
	}
	p.spaces = orderedSpaceIDs(spaces, keys)
	if p.graph, err = readGraph(ctx, p.view, p.caller.Project); err != nil {
		return err
	}
	decisions, err := p.view.Decisions(ctx, p.caller.Project)
	if err != nil {
		return err
	}
	decisions = slices.DeleteFunc(decisions, func(d c4model.Decision) bool { return !inForce(d) })
	p.out.Decisions = p.speaking(decisions, task)
	order := p.graph.order(chosen)
	for _, o := range order {
		step, err := p.step(ctx, o, decisions, chosen)
		if err != nil {
			return err
		}
		p.out.Steps, p.on = append(p.out.Steps, step), append(p.on, step.Element.ID)
	}
	return nil
}

func (p *plan) step(ctx context.Context, o ordered, decisions []c4model.Decision, chosen []ContextElement) (PlanStep, error) {
	e := o.ContextElement
	step := PlanStep{Element: e.ElementRef, Score: e.Score, Reasons: e.Reasons, Order: o.because, Paths: e.Paths,
		Verify: []KnownMemory{}, Bound: []KnownMemory{}, Decisions: []BoundDecision{}, Check: []Neighbour{}}
	around := []uuid.UUID{} // what holds around an element holds in it
	for at := e.Key; at != ""; at = p.graph.elements[at].Parent {
		around = append(around, p.graph.elements[at].ID)
		for _, d := range decisions {
			if d.Element != "" && c4model.FoldKey(d.Element) == c4model.FoldKey(at) {
				step.Decisions = append(step.Decisions, bound(d))
			}
		}
	}
	known, err := p.known(ctx, p.view, p.caller, p.spaces, around)
	if err != nil {
		return PlanStep{}, err
	}
	for _, m := range known {
		switch {
		case m.doubted():
			step.Verify = append(step.Verify, m)
		case m.Kind == Pitfall || m.Kind == Convention:
			step.Bound = append(step.Bound, m)
		}
	}
	for _, d := range p.graph.walk(e.Key, p.graph.in, 1, false) {
		if slices.ContainsFunc(chosen, func(o ContextElement) bool { return o.Key == d.key }) {
			continue
		}
		because := strings.Join(d.model, "; ")
		if because == "" {
			because = "imports it at " + d.code[0].String()
		}
		step.Check = append(step.Check, Neighbour{p.graph.elements[d.key].Ref(), because})
	}
	step.Verify, step.LeftOut.Verify = cut(step.Verify, planList)
	step.Bound, step.LeftOut.Bound = cut(step.Bound, planList)
	step.Check, step.LeftOut.Check = cut(step.Check, planList)
	return step, nil
}

// doubted tells whether a memory has to be looked at before it is relied on.
func (m KnownMemory) doubted() bool {
	return slices.ContainsFunc(m.Flags, func(f Flag) bool { return f.Flag == "verify" || f.Flag == "disputed" })
}

// inForce tells whether a decision still holds, as far as its status says.
func inForce(d c4model.Decision) bool {
	status := terms.Fold(d.Status)
	return !slices.ContainsFunc([]string{"superseded", "deprecated", "rejected"}, func(over string) bool { return strings.HasPrefix(status, over) })
}

func bound(d c4model.Decision) BoundDecision {
	return BoundDecision{Handle: "ADR-" + d.ID, Title: d.Title, Status: d.Status}
}

// speaking gives the decisions that are on no element and have words of the task, best first. There is no floor: a title costs little
// to read, a decision that is broken unknowingly much.
func (p *plan) speaking(decisions []c4model.Decision, task []string) []BoundDecision {
	var general []c4model.Decision
	var words [][]string
	for _, d := range decisions {
		if d.Element == "" {
			general, words = append(general, d), append(words, terms.Of(d.Title+"\n"+d.Summary))
		}
	}
	df := make([]int, len(task))
	for i, t := range task {
		for _, w := range words {
			if slices.Contains(w, t) {
				df[i]++
			}
		}
	}
	weighed := p.ranking.Weigh(task, len(general), df)
	type speaker struct {
		c4model.Decision
		share float64
	}
	var speakers []speaker
	for i, d := range general {
		matched := int64(0)
		for _, w := range weighed.Terms {
			if slices.Contains(words[i], w.Term) {
				matched += w.Weight
			}
		}
		if share := weighed.Lexical(matched); share > 0 {
			speakers = append(speakers, speaker{d, share})
		}
	}
	slices.SortStableFunc(speakers, func(a, b speaker) int { return cmp.Compare(b.share, a.share) })
	out := []BoundDecision{}
	for _, s := range speakers[:min(len(speakers), planList)] {
		if s.share >= p.ranking.WordsShare*speakers[0].share {
			out = append(out, bound(s.Decision))
		}
	}
	return out
}

// ordered is a chosen element with the reason of its place.
type ordered struct {
	ContextElement
	because string
}

// order puts what others depend on first, directly or not, and parts before what they are parts of. Where nothing decides, and
// where elements depend on each other in a circle, the better one comes first.
func (g graph) order(chosen []ContextElement) []ordered {
	needs := map[string][]string{} // of each, what has to come before it
	for _, e := range chosen {
		reach := g.walk(e.Key, g.out, len(g.elements), false)
		for _, o := range chosen {
			part := o.Key != e.Key && g.within(o.Key, e.Key)
			if part || slices.ContainsFunc(reach, func(s step) bool { return s.key == o.Key }) {
				needs[e.Key] = append(needs[e.Key], o.Key)
			}
		}
	}
	left := slices.Clone(chosen)
	var out []ordered
	for len(left) > 0 {
		waits := func(e ContextElement) bool {
			return slices.ContainsFunc(left, func(o ContextElement) bool {
				return o.Key != e.Key && slices.Contains(needs[e.Key], o.Key) && !slices.Contains(needs[o.Key], e.Key)
			})
		}
		next := max(0, slices.IndexFunc(left, func(e ContextElement) bool { return !waits(e) }))
		out = append(out, ordered{left[next], because(left[next].Key, needs, chosen)})
		left = slices.Delete(left, next, next+1)
	}
	return out
}

// because says why an element comes where it does.
func because(key string, needs map[string][]string, chosen []ContextElement) string {
	var by []string
	for _, o := range chosen {
		if slices.Contains(needs[o.Key], key) {
			by = append(by, o.Key)
		}
	}
	switch {
	case len(by) > 0 && len(needs[key]) > 0 && slices.ContainsFunc(by, func(o string) bool { return slices.Contains(needs[key], o) }):
		return fmt.Sprintf("it and %s depend on each other; the task is more about it", strings.Join(by, ", "))
	case len(by) == 1:
		return by[0] + " builds on it"
	case len(by) > 1:
		return strings.Join(by, ", ") + " build on it"
	case len(needs[key]) > 0:
		return "it builds on " + strings.Join(needs[key], ", ")
	}
	return "no other step depends on it"
}
