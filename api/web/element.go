package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

type elementService interface {
	mapService
	findingService
	Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
	List(ctx context.Context, c memory.Caller, r memory.ListRequest) (memory.ListResponse, error)
	Remember(ctx context.Context, c memory.Caller, r memory.RememberRequest) (memory.RememberResponse, error)
	Sessions(ctx context.Context, c memory.Caller, r session.ListRequest) (session.List, error)
}

// findingService tells what the latest runs found.
type findingService interface {
	DriftScore(ctx context.Context, c memory.Caller) (memory.DriftScore, error)
	DriftRun(ctx context.Context, c memory.Caller, id string) (memory.RunReport, error)
}

// How much of what grows by itself an element page shows.
const (
	shownOutcomes = 10
	shownSessions = 10
)

// elementView is all about one element.
type elementView struct {
	c4model.Element

	Above     []c4model.Element // outermost first
	Inside    []c4model.Element
	Cell      *memory.MapElement // nil for people and what is outside the project
	Memories  []memory.Memory    // pitfalls first
	More      string             // cursor of the memories that did not fit
	Outcomes  []memory.Memory
	Out, In   []relation
	Bindings  []c4model.Binding
	Decisions []c4model.Decision
	Runs      []memory.RunSummary // the latest of each repository
	Findings  []found
	Sessions  []session.Summary
	Form      rememberForm
	Written   *memory.RememberResponse
	Wrong     *problem.Error
}

// relation is a relationship seen from one of its ends.
type relation struct {
	c4model.Relationship

	Other c4model.Element
}

// found is a finding with the run that found it.
type found struct {
	drift.Finding

	Run memory.RunSummary
}

// rememberForm is what somebody typed, to be shown again when it cannot be stored.
type rememberForm struct {
	Kind, Title, Content, Why, Tags, Paths, Expires string

	Separate bool
}

func (p *Pages) registerElement(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/elements/{key}", p.project(p.elementPage))
	mux.Handle("POST /p/{project}/elements/{key}", p.project(p.rememberHere))
}

func (p *Pages) elementPage(v *visit) error {
	return p.showElement(v, http.StatusOK, elementView{Form: rememberForm{Kind: string(memory.Pitfall)}})
}

// rememberHere writes a memory about the element and shows what became of it on the same page: what was taken out of the text and
// what is similar is told once, and belongs in no address.
func (p *Pages) rememberHere(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	typed := rememberForm{Kind: form.Get("kind"), Title: form.Get("title"), Content: form.Get("content"), Why: form.Get("why"), Tags: form.Get("tags"),
		Paths: form.Get("paths"), Expires: form.Get("expires"), Separate: form.Get("separate") != ""}
	out, err := p.Service.Remember(v.ctx(), v.caller, memory.RememberRequest{
		Kind: memory.Kind(typed.Kind), Title: strings.TrimSpace(typed.Title), Content: lineEnds(typed.Content), Why: lineEnds(typed.Why), Tags: list(typed.Tags),
		Paths: list(typed.Paths), Expires: strings.TrimSpace(typed.Expires), Separate: typed.Separate, Elements: []string{v.r.PathValue("key")},
	})
	if pr, ok := problem.As(err); ok {
		return p.showElement(v, status(pr.Code), elementView{Form: typed, Wrong: pr})
	}
	if err != nil {
		return err
	}
	view := elementView{Form: rememberForm{Kind: typed.Kind}, Written: &out}
	if out.Deduplicated {
		view.Form = typed // so that it can be kept apart all the same
	}
	return p.showElement(v, http.StatusOK, view)
}

// list takes what a person typed into one field apart, by commas and line ends.
func list(text string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// lineEnds takes back what browsers do to the line ends of a text.
func lineEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// showElement completes a view and shows it.
func (p *Pages) showElement(v *visit, code int, view elementView) error {
	model, err := p.Service.Model(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(model.Elements, func(e c4model.Element) bool { return c4model.FoldKey(e.Key) == c4model.FoldKey(v.r.PathValue("key")) })
	if at < 0 {
		return problem.New(problem.NotFound, "element", "the model has no element of that key", "look for it on the map; it may have been renamed or have left the model")
	}
	view.Element = model.Elements[at]
	view.place(model)
	if err := p.knownHere(v, &view); err != nil {
		return err
	}
	m, err := p.Service.Map(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	for i := range m.Elements {
		if m.Elements[i].Key == view.Key {
			view.Cell = &m.Elements[i]
		}
	}
	all, runs, err := p.findings(v)
	if err != nil {
		return err
	}
	view.Runs = runs
	for _, f := range all {
		if c4model.FoldKey(f.Element) == c4model.FoldKey(view.Key) || c4model.FoldKey(f.Subject) == c4model.FoldKey(view.Key) {
			view.Findings = append(view.Findings, f)
		}
	}
	worked, err := p.Service.Sessions(v.ctx(), v.caller, session.ListRequest{State: "all", Element: view.Key, Limit: shownSessions})
	if err != nil {
		return err
	}
	view.Sessions = worked.Sessions
	return v.show(code, "element", view.Name, view)
}

// place fills in what the model says about the element.
func (view *elementView) place(model memory.ModelView) {
	byKey := make(map[string]c4model.Element, len(model.Elements))
	for _, e := range model.Elements {
		byKey[e.Key] = e
		if e.Parent == view.Key {
			view.Inside = append(view.Inside, e)
		}
	}
	for parent, ok := byKey[view.Parent]; ok && len(view.Above) < len(model.Elements); parent, ok = byKey[parent.Parent] {
		view.Above = append(view.Above, parent)
	}
	slices.Reverse(view.Above)
	end := func(key string) c4model.Element {
		if e, ok := byKey[key]; ok {
			return e
		}
		return c4model.Element{Key: key, Name: key}
	}
	for _, r := range model.Relationships {
		if r.Source == view.Key {
			view.Out = append(view.Out, relation{r, end(r.Destination)})
		}
		if r.Destination == view.Key {
			view.In = append(view.In, relation{r, end(r.Source)})
		}
	}
	for _, b := range model.Bindings {
		if b.Element == view.Key {
			view.Bindings = append(view.Bindings, b)
		}
	}
	for _, d := range model.Decisions {
		if d.Element == view.Key {
			view.Decisions = append(view.Decisions, d)
		}
	}
}

// knownHere lists the memories of the element: facts by kind, and the last outcomes of sessions.
func (p *Pages) knownHere(v *visit, view *elementView) error {
	facts, err := p.Service.List(v.ctx(), v.caller, memory.ListRequest{Element: view.Key, Kinds: []memory.Kind{memory.Pitfall, memory.Convention, memory.Note},
		Cursor: v.r.URL.Query().Get("before")})
	if err != nil {
		return err
	}
	view.Memories, view.More = facts.Memories, facts.NextCursor
	slices.SortStableFunc(view.Memories, func(a, b memory.Memory) int {
		return slices.Index(memory.Kinds, a.Kind) - slices.Index(memory.Kinds, b.Kind)
	})
	outcomes, err := p.Service.List(v.ctx(), v.caller, memory.ListRequest{Element: view.Key, Kinds: []memory.Kind{memory.SessionOutcome}, Limit: shownOutcomes})
	view.Outcomes = outcomes.Memories
	return err
}

// findings are those of the latest tracked run of each repository.
func (p *Pages) findings(v *visit) (all []found, runs []memory.RunSummary, err error) {
	score, err := p.Service.DriftScore(v.ctx(), v.caller)
	if err != nil {
		return nil, nil, err
	}
	for _, run := range score.Runs {
		report, err := p.Service.DriftRun(v.ctx(), v.caller, run.ID)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range report.Report.Findings {
			all = append(all, found{f, run})
		}
	}
	return all, score.Runs, nil
}
