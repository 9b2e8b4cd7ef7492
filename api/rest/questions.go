package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/memory"
)

// questions adds what can be asked of a project.
func (a *API) questions() {
	type recalling struct {
		ProjectPath
		JSON[memory.RecallRequest]
	}
	add(a, endpoint{id: "recall", method: http.MethodPost, path: pathProject + "/recall", tag: tagQuestions,
		summary: "Recall", description: "Finds what is known: by words, by meaning where an encoder is set up, by element or by path. " +
			"Results come best first within a budget of tokens; what does not fit is in `index`, to be opened by handle. `degraded` says why an answer may miss something.",
		answers: "What is known, best first.",
		example: map[string]any{"query": "orders arrive twice", "limit": 5}},
		func(ctx context.Context, x *exchange, in *recalling) (*answer[memory.RecallResponse], error) {
			out, err := a.service.Recall(ctx, x.caller, in.Sent)
			out.Results, out.Index = some(out.Results), some(out.Index)
			return &answer[memory.RecallResponse]{out}, err
		})
	type finding struct {
		ProjectPath
		JSON[memory.ContextRequest]
	}
	add(a, endpoint{id: "find-context", method: http.MethodPost, path: pathProject + "/context", tag: tagQuestions,
		summary: "Find the elements of a task", description: "Finds the elements that a task is about, with the reasons and the memories that speak for them.",
		answers: "The elements, best first.",
		example: map[string]any{"task": "Let customers cancel an order", "limit": 3}},
		func(ctx context.Context, x *exchange, in *finding) (*answer[memory.ContextResponse], error) {
			out, err := a.service.Context(ctx, x.caller, in.Sent)
			out.Elements = some(out.Elements)
			return &answer[memory.ContextResponse]{out}, err
		})
	type whyQuery struct {
		ProjectPath

		Path string  `query:"path" required:"true" doc:"The file, relative to the root of the repository." example:"api/orders.go"`
		Line Integer `query:"line" doc:"The line, counted from 1; it is repeated in the answer."`
	}
	add(a, endpoint{id: "why", method: http.MethodGet, path: pathProject + "/why", tag: tagQuestions,
		summary: "Why is this file so?", description: "Gives everything known and doubted about a file: memories that name it or a folder above it, " +
			"and those of the elements that own it.",
		answers: "What is known about the file, doubts first."},
		func(ctx context.Context, x *exchange, in *whyQuery) (*answer[memory.WhyResponse], error) {
			line, err := in.Line.value("line")
			if err != nil {
				return nil, err
			}
			out, err := a.service.Why(ctx, x.caller, in.Path, line)
			return &answer[memory.WhyResponse]{out}, err
		})
	add(a, endpoint{id: "knowledge-map", method: http.MethodGet, path: pathProject + "/knowledge-map", tag: tagQuestions,
		summary: "Knowledge map", description: "Shows which elements of the model are documented, how fresh that is, and where nobody wrote anything.",
		answers: "The map."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[memory.Map], error) {
			out, err := a.service.Map(ctx, x.caller)
			out.Elements, out.Holes = some(out.Elements), some(out.Holes)
			return &answer[memory.Map]{out}, err
		})
	add(a, endpoint{id: "stats", method: http.MethodGet, path: pathProject + "/stats", tag: tagQuestions,
		summary: "Count", description: "Counts what a recall goes over: the memories of the project, of the organization and the caller's own; their vectors, " +
			"what waits for one, and how they are compared.",
		answers: "The counts."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[memory.Stats], error) {
			out, err := a.service.Stats(ctx, x.caller)
			return &answer[memory.Stats]{out}, err
		})
}
