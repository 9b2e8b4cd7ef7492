package web

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type diagramService interface {
	Diagram(ctx context.Context, c memory.Caller, r memory.DiagramRequest) (diagram.View, error)
	Model(ctx context.Context, c memory.Caller) (memory.ModelView, error)
}

// diagramView is a view of the model, drawn and as a table.
type diagramView struct {
	diagram.View

	Drawing  template.HTML
	TooLarge *problem.Error
	Above    []crumb
	Others   []crumb // the other views of the element
	Rows     []diagramRow
	Download string
	Bare     bool // there is no model
}

// crumb is a diagram to go to.
type crumb struct{ Name, Address string }

// diagramRow is an edge in the table.
type diagramRow struct {
	diagram.Edge

	From, To diagram.Node
}

func (p *Pages) registerDiagrams(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/diagrams", p.project(p.diagramPage))
	mux.Handle("GET /p/{project}/diagrams/{key}", p.project(p.diagramPage))
}

// diagramPage shows a view, or hands it out as a file. What is asked for and not there is a problem, as everywhere; a view that is
// too large to be drawn is a table.
func (p *Pages) diagramPage(v *visit) error {
	q := v.r.URL.Query()
	view, err := p.Service.Diagram(v.ctx(), v.caller, memory.DiagramRequest{Element: v.r.PathValue("key"), View: diagram.Kind(q.Get("view"))})
	if err != nil {
		return err
	}
	if q.Get("as") == "svg" {
		return v.sendDiagram(view)
	}
	out := diagramView{View: view, Download: v.diagramAddress(view.Element, view.Kind) + "&as=svg", Bare: len(view.Nodes) == 0}
	drawing, err := diagram.SVG(view, diagram.Options{Address: v.opens(view)})
	if pr, ok := problem.As(err); ok {
		out.TooLarge = pr
	} else if err != nil {
		return err
	}
	out.Drawing = template.HTML(drawing) //nolint:gosec // SVG escapes every text that it takes in
	nodes := make(map[string]diagram.Node, len(view.Nodes))
	for _, n := range view.Nodes {
		nodes[n.Key] = n
	}
	for _, e := range view.Edges {
		out.Rows = append(out.Rows, diagramRow{e, nodes[e.Source], nodes[e.Destination]})
	}
	for _, k := range view.Kinds {
		if k != view.Kind {
			out.Others = append(out.Others, crumb{string(k), v.diagramAddress(view.Element, k)})
		}
	}
	if err := out.climb(v); err != nil {
		return err
	}
	return v.show(http.StatusOK, "diagram", view.Title(), out)
}

// climb finds the diagrams above.
func (d *diagramView) climb(v *visit) error {
	if d.Kind != diagram.Landscape {
		d.Above = append(d.Above, crumb{"People and systems", v.diagramAddress("", diagram.Landscape)})
	}
	if d.Element == "" {
		return nil
	}
	model, err := v.Service.Model(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	parent, names := map[string]string{}, map[string]string{}
	for _, e := range model.Elements {
		parent[e.Key], names[e.Key] = e.Parent, e.Name
	}
	var inner []crumb
	for at := parent[d.Element]; at != "" && len(inner) < len(parent); at = parent[at] {
		inner = append([]crumb{{names[at], v.diagramAddress(at, "")}}, inner...)
	}
	d.Above = append(d.Above, inner...)
	return nil
}

// diagramAddress is where a view is shown.
func (v *visit) diagramAddress(element string, kind diagram.Kind) string {
	parts := []string{"diagrams"}
	if element != "" {
		parts = append(parts, element)
	}
	address := v.place(parts...)
	if kind != "" {
		address += "?" + url.Values{"view": {string(kind)}}.Encode()
	}
	return address
}

// opens says where a click on a node leads: to the view of what is in it, else to its page. The subject of its own context opens
// what is in it, too.
func (v *visit) opens(diagram.View) func(diagram.Node) string {
	return func(n diagram.Node) string {
		if n.Inside > 0 && n.Level != "person" {
			return v.diagramAddress(n.Key, "")
		}
		return v.place("elements", n.Key)
	}
}

// sendDiagram answers with a file.
func (v *visit) sendDiagram(view diagram.View) error {
	drawing, err := diagram.SVG(view, diagram.Options{})
	if err != nil {
		return err
	}
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, strings.TrimPrefix(view.Element+"-"+string(view.Kind), "-"))
	v.w.Header().Set("Content-Type", "image/svg+xml")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.svg"`)
	_, _ = v.w.Write([]byte(drawing)) // whoever went away needs no answer
	return nil
}
