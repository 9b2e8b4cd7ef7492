package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// ServerBinding is the source of bindings that were set here rather than read from a repository. An import leaves them; one
// that brings the same binding takes it over, since the repository says it now.
const ServerBinding = "server"

// VerbBind is the setting of bindings; the subject is the element.
const VerbBind Verb = "bind"

// maxElementPatterns bounds the patterns of one element that are set at once.
const maxElementPatterns = 200

// BindRequest says which files an element stands for, beyond what the repository says.
type BindRequest struct {
	Element  string   // key, former key or name
	Patterns []string // gitignore style, relative to the top of the repository; none take back what was set before
}

// BindResponse is what was set.
type BindResponse struct {
	Element  string            `json:"element"`  // key
	Bindings []c4model.Binding `json:"bindings"` // all of the element, of every source
	Attached int               `json:"attached"` // memories that found the element through a path
}

// bindingTx changes the bindings that were set here.
type bindingTx interface {
	// SaveBindings makes an element's bindings of source ServerBinding those of the patterns; what the repository binds
	// already stays the repository's.
	SaveBindings(ctx context.Context, project, element uuid.UUID, patterns []string) error
}

// Bind makes the bindings of an element that were set here the given ones. Memories that name a path are attached to the
// element that now owns it, as by an import. It needs the role reviewer.
func (s *Service) Bind(ctx context.Context, c Caller, r BindRequest) (BindResponse, error) {
	out := BindResponse{}
	if c.Project == uuid.Nil {
		return out, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	if err := c.check(); err != nil {
		return out, err
	}
	if !c.mayReview() {
		return out, problem.New(problem.Forbidden, "", "binding files to an element needs the reviewer role", "propose it in stele.yaml, or use a token of role reviewer")
	}
	if len(r.Patterns) > maxElementPatterns {
		return out, problem.Invalidf("patterns", "%d patterns are more than the %d of an element", len(r.Patterns), maxElementPatterns).Fix("bind folders rather than files")
	}
	patterns := []string{}
	bindings := []c4model.Binding{}
	for _, written := range r.Patterns {
		pattern, err := c4model.NormalizePattern(written)
		if err != nil {
			return out, err
		}
		if !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
			bindings = append(bindings, c4model.Binding{Element: r.Element, Pattern: pattern})
		}
	}
	if err := checkBindings(bindings); err != nil {
		return out, err
	}
	err := writeFollowing(ctx, s, c, VerbBind, r, &out, func(tx Tx) (needed []SpaceKey, err error) {
		out, needed, err = s.bind(ctx, tx, c, r.Element, patterns)
		return needed, err
	})
	return out, wrap("bind", err)
}

// bind is Bind in the transaction that holds the project, and gives the spaces it would need as well.
func (s *Service) bind(ctx context.Context, tx Tx, c Caller, name string, patterns []string) (out BindResponse, needed []SpaceKey, err error) {
	e, err := element(ctx, tx, c, "element", name)
	if err != nil {
		return out, nil, err
	}
	if e.Level == c4model.Person {
		return out, nil, problem.Invalidf("element", "%s is a person, who stands for no files", e.Key).Fix("name what the person uses")
	}
	if err := tx.SaveBindings(ctx, c.Project, e.ID, patterns); err != nil {
		return out, nil, err
	}
	all, err := tx.Bindings(ctx, c.Project)
	if err != nil {
		return out, nil, err
	}
	if len(all) > maxBindings {
		return out, nil, problem.Invalidf("patterns", "the project would have %d bindings, more than %d", len(all), maxBindings).Fix("bind folders rather than files")
	}
	out = BindResponse{Element: e.Key, Bindings: []c4model.Binding{}}
	for _, b := range all {
		if b.ElementID == e.ID {
			out.Bindings = append(out.Bindings, b.Binding)
		}
	}
	now := s.now()
	if err := tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbBind, Subject: e.ID}); err != nil {
		return out, nil, err
	}
	out.Attached, needed, err = s.followModel(ctx, tx, c, ModelChange{At: now})
	return out, needed, err
}

// writeFollowing runs a write that memories of any space may have to follow. It starts over with the spaces that the write
// found it needs, and answers a retry as the first time.
func writeFollowing[T any](ctx context.Context, s *Service, c Caller, verb Verb, request any, out *T, write func(tx Tx) (needed []SpaceKey, err error)) error {
	spaces := []SpaceKey{{Project, c.Project.String()}}
	var err error
	for range maxImportRounds {
		var needed []SpaceKey
		err = s.write(ctx, c, spaces, func(tx Tx) error {
			needed = nil
			return once(ctx, tx, c, s.now(), verb, request, out, func() (err error) {
				needed, err = write(tx)
				return err
			})
		})
		if !errors.Is(err, errSpaces) {
			return err
		}
		spaces = append(spaces, needed...)
	}
	return problem.New(problem.Conflict, "", "memories on the elements kept appearing in further places", "do it again").Because(err)
}

// UncommittedBindings are the bindings that were set here and are not in the repository yet, by element, in order of the model.
func (s *Service) UncommittedBindings(ctx context.Context, c Caller) ([]c4model.Binding, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	out := []c4model.Binding{}
	err := s.view(ctx, c, func(v View) error {
		out = out[:0]
		all, err := v.Bindings(ctx, c.Project)
		for _, b := range all {
			if b.Source == ServerBinding {
				out = append(out, b.Binding)
			}
		}
		return err
	})
	return out, wrap("bindings", err)
}
