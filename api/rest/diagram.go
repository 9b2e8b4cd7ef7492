package rest

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/memory"
)

// diagrams adds the views of the model.
func (a *API) diagrams() {
	type diagramQuery struct {
		ProjectPath

		Element string `query:"element" doc:"Key or name of the element; empty for the landscape, or the only system." example:"shop"`
		View    string `query:"view" doc:"landscape, context, containers, components or code. Left out: what is in the element, or its context when nothing is." example:"containers"`
	}
	add(a, endpoint{id: "diagram", method: http.MethodGet, path: pathProject + "/diagram", tag: tagQuestions,
		summary: "A view of the model",
		description: "Gives the elements and relations of a C4 view, what is known of each element, and where code and model disagree about a dependency. " +
			"A relation of something inside an element counts for the element that is shown. The page of a diagram and `stele diagram` draw it as SVG.",
		answers: "The view."},
		func(ctx context.Context, x *exchange, in *diagramQuery) (*answer[diagram.View], error) {
			out, err := a.service.Diagram(ctx, x.caller, memory.DiagramRequest{Element: in.Element, View: diagram.Kind(in.View)})
			out.Kinds, out.Nodes, out.Edges = some(out.Kinds), some(out.Nodes), some(out.Edges)
			return &answer[diagram.View]{out}, err
		})
}
