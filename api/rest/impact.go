package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// work adds what can be asked before something is changed.
func (a *API) work() {
	type impactQuery struct {
		ProjectPath

		Element string  `query:"element" required:"true" doc:"Key or name of the element." example:"shop.api"`
		Depth   Integer `query:"depth" doc:"Steps along dependencies: 1 to 6; 2 when left out."`
		Limit   Integer `query:"limit" doc:"Elements in each direction: 1 to 200; 10 when left out."`
	}
	add(a, endpoint{id: "impact", method: http.MethodGet, path: pathProject + "/impact", tag: tagQuestions,
		summary: "What a change touches", description: "Tells what depends on an element and what it depends on, by the model and by the imports that the latest runs found; " +
			"what is known there, pitfalls first, and who works there now. `left_out` counts what the bounds left out.",
		answers: "What the change touches, nearest first."},
		func(ctx context.Context, x *exchange, in *impactQuery) (*answer[memory.ImpactResponse], error) {
			r := memory.ImpactRequest{Element: in.Element}
			var err error
			if r.Depth, err = in.Depth.value("depth"); err != nil {
				return nil, err
			}
			if r.Limit, err = in.Limit.value("limit"); err != nil {
				return nil, err
			}
			out, err := a.service.Impact(ctx, x.caller, r)
			return &answer[memory.ImpactResponse]{out}, err
		})
	type planning struct {
		ProjectPath
		JSON[memory.PlanRequest]
	}
	add(a, endpoint{id: "plan", method: http.MethodPost, path: pathProject + "/plan", tag: tagQuestions,
		summary: "Put a task in steps", description: "Chooses the elements that a task is about and orders them, what others depend on first; each with the decisions, " +
			"conventions and pitfalls that bind it, the doubts to settle first and the neighbours to look at after. No language model takes part.",
		answers: "The steps.", example: map[string]any{"task": "Let customers cancel an order"}},
		func(ctx context.Context, x *exchange, in *planning) (*answer[memory.PlanResponse], error) {
			out, err := a.service.Plan(ctx, x.caller, in.Sent)
			return &answer[memory.PlanResponse]{out}, err
		})
}
