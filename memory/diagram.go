package memory

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/diagram"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/internal/problem"
)

// DiagramRequest asks for a view of the model. Both may be empty: the landscape, or the context of the only system; of an element
// what is in it, or its context when nothing is.
type DiagramRequest struct {
	Element string       `json:"element"` // key, former key, name or id
	View    diagram.Kind `json:"view"`
}

// Freshness in words, for what shows it as a colour: with half-lives of 45 days fresh is a month, ageing a quarter.
const (
	Fresh  = "fresh"
	Ageing = "ageing"
	Old    = "old"
	Bare   = "none" // nothing is known

	freshFrom  = 0.6
	ageingFrom = 0.25
)

// Age is the freshness of an element in a word.
func (e MapElement) Age() string {
	switch {
	case !e.Documented:
		return Bare
	case e.Freshness >= freshFrom:
		return Fresh
	case e.Freshness >= ageingFrom:
		return Ageing
	default:
		return Old
	}
}

// Diagram gives a view of the model of the caller's project with what the knowledge map tells of its elements, and where the latest
// tracked runs found that code and model disagree about a dependency. Its texts are cleaned for one line each.
func (s *Service) Diagram(ctx context.Context, c Caller, r DiagramRequest) (diagram.View, error) {
	if c.Project == uuid.Nil {
		return diagram.View{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	var out diagram.View
	err := s.view(ctx, c, func(v View) error {
		key := strings.TrimSpace(r.Element)
		if key != "" {
			of, err := element(ctx, v, c, "element", key)
			if err != nil {
				return err
			}
			if of.RemovedAt != nil {
				return problem.New(problem.NotFound, "element", of.Key+" left the model", "look for what took its place on the map")
			}
			key = of.Key
		}
		in, err := s.diagramInput(ctx, v, c.Project)
		if err == nil {
			out, err = diagram.Of(in, key, r.View)
		}
		return err
	})
	return out, wrap("diagram", err)
}

// diagramInput reads what a view is made of.
func (s *Service) diagramInput(ctx context.Context, v View, project uuid.UUID) (diagram.Input, error) {
	var in diagram.Input
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return in, err
	}
	for _, e := range elements {
		e.Name, e.Description, e.Technology = Line(e.Name), Line(e.Description), Line(e.Technology)
		in.Elements = append(in.Elements, e.Element)
	}
	if in.Relationships, err = v.Relationships(ctx, project); err != nil {
		return in, err
	}
	for i := range in.Relationships {
		r := &in.Relationships[i]
		r.Description, r.Technology = Line(r.Description), Line(r.Technology)
	}
	known, err := s.mapOf(ctx, v, project)
	if err != nil {
		return in, err
	}
	in.Known = make(map[string]diagram.Known, len(known.Elements))
	for _, e := range known.Elements {
		in.Known[e.Key] = diagram.Known{
			Pitfalls: e.Memories[Pitfall], Conventions: e.Memories[Convention], Notes: e.Memories[Note], Doubts: e.Verify, Freshness: e.Age(), Drift: e.Drift.State,
		}
	}
	runs, err := v.LatestTracked(ctx, project)
	if err != nil {
		return in, err
	}
	in.Undocumented, in.Absent = disagreements(runs)
	return in, nil
}

// disagreements are the dependencies that only the code has, and those that only the model has, by the latest tracked run of each
// repository: what any of them says counts, as it does for the impact of a change.
func disagreements(runs []Run) (undocumented, absent []diagram.Dependency) {
	seen := map[diagram.Dependency]bool{}
	for _, r := range runs {
		if r.Report.Status != drift.Checked {
			continue
		}
		for _, f := range r.Report.Findings {
			d := diagram.Dependency{Source: f.Element, Destination: f.Subject}
			switch f.Check {
			case drift.UndocumentedDependency:
				folded := diagram.Dependency{Source: c4model.FoldKey(f.Element), Destination: c4model.FoldKey(f.Subject)}
				if !seen[folded] { // two repositories may show the same
					seen[folded] = true
					undocumented = append(undocumented, d)
				}
			case drift.AbsentDependency:
				absent = append(absent, d)
			case drift.Existence, drift.LanguageMismatch, drift.UndocumentedCode, drift.AmbiguousBinding, drift.DanglingReference:
			}
		}
	}
	return undocumented, absent
}
