package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// CodeSpan says where to look for what happened to the code that a memory is about, since it was written or last confirmed.
type CodeSpan struct {
	Handle     string   `json:"handle"`
	Repository string   `json:"repository"` // whose tracked run names To; "" when there was none
	From       string   `json:"from"`       // commit
	To         string   `json:"to"`         // commit of the latest tracked run; "" when there was none
	Patterns   []string `json:"patterns"`   // the memory's files, else those its elements are bound to
}

// CodeSpan tells which code a memory is about and against which commit it was written. It is an error when neither is known.
func (s *Service) CodeSpan(ctx context.Context, c Caller, ref string) (CodeSpan, error) {
	if c.Project == uuid.Nil {
		return CodeSpan{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	var out CodeSpan
	err := s.view(ctx, c, func(v View) error {
		r, err := s.record(ctx, v, c, "memory", ref)
		if err != nil {
			return err
		}
		out = CodeSpan{Handle: r.Handle, Patterns: []string{}}
		if r.Seen == nil || r.Seen.Commit == "" {
			return problem.New(problem.NotFound, "memory", r.Handle+" was written against no known commit", "confirm it in a checkout, and its commit is noted")
		}
		out.From = r.Seen.Commit
		for i, p := range r.Paths {
			if i >= len(r.PathsOf) || r.PathsOf[i] == uuid.Nil || r.PathsOf[i] == c.Project {
				out.Patterns = append(out.Patterns, p)
			}
		}
		if len(out.Patterns) == 0 {
			bindings, err := v.Bindings(ctx, c.Project)
			if err != nil {
				return err
			}
			for _, b := range bindings {
				if slices.ContainsFunc(r.Elements, func(e ElementRef) bool { return e.ID == b.ElementID }) && !slices.Contains(out.Patterns, b.Pattern) {
					out.Patterns = append(out.Patterns, b.Pattern)
				}
			}
		}
		if len(out.Patterns) == 0 {
			return problem.New(problem.NotFound, "memory", r.Handle+" is about no files that are known",
				"attach it to an element that is bound to code: stele edit "+r.Handle+" --element KEY")
		}
		runs, err := v.LatestTracked(ctx, c.Project)
		if err != nil {
			return err
		}
		for _, run := range runs { // the repository that has the commit it was written against, as far as is known
			if out.To == "" || slices.Contains(run.Ancestors, out.From) {
				out.Repository, out.To = run.Repository, run.Report.Commit
			}
		}
		return nil
	})
	if err != nil {
		return CodeSpan{}, fmt.Errorf("code of a memory: %w", err)
	}
	return out, nil
}
