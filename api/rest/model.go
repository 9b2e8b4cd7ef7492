package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type importModel struct {
	Model    *c4model.Model    `json:"model"`
	Bindings []c4model.Binding `json:"bindings"`
	Source   string            `json:"source"`
	DryRun   bool              `json:"dry_run"`
}

type importDecisions struct {
	Decisions []c4model.Decision `json:"decisions"`
	Source    string             `json:"source"`
}

type elementList struct {
	Elements []c4model.Element `json:"elements"`
}

type bindingList struct {
	Bindings []c4model.Binding `json:"bindings"`
}

type bindElement struct {
	Element  string   `json:"element"`
	Patterns []string `json:"patterns"`
}

type bindingPatch struct {
	Text     string            `json:"text"`
	Bindings []c4model.Binding `json:"bindings"`
}

type decisionList struct {
	Decisions []c4model.Decision `json:"decisions"`
}

// model adds the architecture model of a project.
func (a *API) model() {
	add(a, endpoint{id: "get-model", method: http.MethodGet, path: pathProject + "/model", tag: tagModel,
		summary: "Get the model", description: "Gives the architecture model of the project: elements, relationships, bindings and decisions.",
		answers: "The model."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[memory.ModelView], error) {
			view, err := a.view(ctx, x)
			return &answer[memory.ModelView]{view}, err
		})
	type importing struct {
		ProjectPath
		JSON[importModel]
	}
	add(a, endpoint{id: "import-model", method: http.MethodPost, path: pathProject + "/model", tag: tagModel, writes: true, limit: MaxModelBody,
		summary: "Import a model", description: "Makes the model of the project equal to the given one, in one transaction or not at all. Elements that were " +
			"renamed or moved keep their memories; one that left keeps them as orphans. `dry_run` tells what would change. Needs the " +
			"reviewer role, but for `dry_run`. The body may have 16 MiB; 1 MiB from other roles.",
		answers: "What changed.",
		example: map[string]any{"model": map[string]any{"name": "Shop", "elements": []any{
			map[string]any{"key": "shop", "name": "Shop", "level": "system"},
			map[string]any{"key": "shop.api", "name": "Orders", "level": "container", "parent": "shop"}}},
			"bindings": []any{map[string]any{"element": "shop.api", "pattern": "api/**", "source": "model"}}, "source": "workspace.dsl"}},
		func(ctx context.Context, x *exchange, in *importing) (*answer[memory.ModelReport], error) {
			if in.Sent.Model == nil {
				return nil, problem.Invalidf("model", "no model is given").Fix("send the elements, as `stele model show --json` does")
			}
			out, err := a.service.ImportModel(ctx, x.caller, memory.ModelImport{Model: in.Sent.Model, Bindings: in.Sent.Bindings, Source: in.Sent.Source, DryRun: in.Sent.DryRun})
			return &answer[memory.ModelReport]{out}, err
		})
	add(a, endpoint{id: "list-elements", method: http.MethodGet, path: pathProject + "/elements", tag: tagModel,
		summary: "List elements", description: "Lists the elements of the model, parents before children.", answers: "The elements."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[elementList], error) {
			view, err := a.view(ctx, x)
			return &answer[elementList]{elementList{view.Elements}}, err
		})
	add(a, endpoint{id: "list-bindings", method: http.MethodGet, path: pathProject + "/bindings", tag: tagModel,
		summary: "List bindings", description: "Lists which files belong to which element, and where that is said: in the model, in `stele.yaml`, or on the server.",
		answers: "The bindings."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[bindingList], error) {
			view, err := a.view(ctx, x)
			return &answer[bindingList]{bindingList{view.Bindings}}, err
		})
	type binding struct {
		ProjectPath
		JSON[bindElement]
	}
	add(a, endpoint{id: "bind-element", method: http.MethodPost, path: pathProject + "/bindings", tag: tagModel, writes: true,
		summary: "Bind an element", description: "Makes the bindings of an element that were set on the server the given ones; none take them back. What the repository " +
			"says stays, and an import of the model leaves what was set here. Memories that name a path find their element. Needs the reviewer role.",
		answers: "The bindings of the element.", example: map[string]any{"element": "shop.api", "patterns": []any{"services/api/**"}}},
		func(ctx context.Context, x *exchange, in *binding) (*answer[memory.BindResponse], error) {
			out, err := a.service.Bind(ctx, x.caller, memory.BindRequest{Element: in.Sent.Element, Patterns: in.Sent.Patterns})
			return &answer[memory.BindResponse]{out}, err
		})
	add(a, endpoint{id: "get-binding-patch", method: http.MethodGet, path: pathProject + "/bindings/patch", tag: tagModel,
		summary: "Get the bindings to commit", description: "Gives the bindings that were set on the server and that the repository does not say yet, and the lines of a " +
			"`stele.yaml` at its top that would say so.",
		answers: "What to commit."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[bindingPatch], error) {
			open, err := a.service.UncommittedBindings(ctx, x.caller)
			lines := map[string][]string{}
			for _, b := range open {
				lines[b.Element] = append(lines[b.Element], b.Pattern)
			}
			return &answer[bindingPatch]{bindingPatch{config.BindingLines(lines), some(open)}}, err
		})
	add(a, endpoint{id: "list-decisions", method: http.MethodGet, path: pathProject + "/adrs", tag: tagModel,
		summary: "List decisions", description: "Lists the architecture decisions of the project. Role ci is told of none.", answers: "The decisions."},
		func(ctx context.Context, x *exchange, _ *ProjectPath) (*answer[decisionList], error) {
			view, err := a.view(ctx, x)
			return &answer[decisionList]{decisionList{view.Decisions}}, err
		})
	type importingDecisions struct {
		ProjectPath
		JSON[importDecisions]
	}
	add(a, endpoint{id: "import-decisions", method: http.MethodPost, path: pathProject + "/adrs", tag: tagModel, writes: true, limit: MaxModelBody,
		summary: "Import decisions", description: "Makes the decisions of one source equal to the given ones. Needs the reviewer role. The body may have 16 MiB; 1 MiB from other roles.",
		answers: "What changed.",
		example: map[string]any{"decisions": []any{map[string]any{"id": "4", "title": "Queue the orders", "status": "accepted",
			"summary": "Orders wait in a queue.", "file": "0004-queue.md"}}, "source": "docs/adr"}},
		func(ctx context.Context, x *exchange, in *importingDecisions) (*answer[memory.DecisionReport], error) {
			out, err := a.service.ImportDecisions(ctx, x.caller, in.Sent.Decisions, in.Sent.Source)
			return &answer[memory.DecisionReport]{out}, err
		})
}

// view gives the model with lists that are never null.
func (a *API) view(ctx context.Context, x *exchange) (memory.ModelView, error) {
	v, err := a.service.Model(ctx, x.caller)
	v.Elements, v.Relationships, v.Bindings, v.Decisions = some(v.Elements), some(v.Relationships), some(v.Bindings), some(v.Decisions)
	return v, err
}
