package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
)

// knowledgeView is what the knowledge map and why read.
type knowledgeView interface {
	// Coverage counts what is known at the elements of the project that anything is attached to: live memories of the
	// spaces, not expired at a moment.
	Coverage(ctx context.Context, project uuid.UUID, spaces []int32, at time.Time) ([]ElementCoverage, error)
	// LastMemoryAt tells when a memory of the spaces was last written; nil when none was.
	LastMemoryAt(ctx context.Context, spaces []int32) (*time.Time, error)
	// DoubtsSince gives, for each memory with an open doubt, when the newest was opened.
	DoubtsSince(ctx context.Context, memories []uuid.UUID) (map[uuid.UUID]time.Time, error)
}

// ElementCoverage is what is known at an element.
type ElementCoverage struct {
	Element  uuid.UUID
	Counts   map[Kind]int
	Facts    int        // reviewed pitfalls, conventions and notes: what documents an element
	Freshest *time.Time // newest confirmed_at of a pitfall, convention or note
	Doubted  int        // in doubt or disputed
	Sessions int        // distinct sessions that wrote, confirmed or were served something here in the last 30 days
}

// Map shows what is known where in the caller's project: one cell per element in scope, and what nobody wrote anything
// about, busiest first. Personal memories do not count: the map is the same for everybody.
func (s *Service) Map(ctx context.Context, c Caller) (Map, error) {
	if c.Project == uuid.Nil {
		return Map{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	var out Map
	err := s.view(ctx, c, func(v View) error {
		var err error
		out, err = s.mapOf(ctx, v, c.Project)
		return err
	})
	if err != nil {
		return Map{}, fmt.Errorf("knowledge map: %w", err)
	}
	return out, nil
}

func (s *Service) mapOf(ctx context.Context, v View, project uuid.UUID) (Map, error) {
	keys := []SpaceKey{{Project, project.String()}, {Organization, ""}}
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return Map{}, err
	}
	now := s.now()
	covered, err := v.Coverage(ctx, project, orderedSpaceIDs(spaces, keys), now)
	if err != nil {
		return Map{}, err
	}
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return Map{}, err
	}
	relationships, err := v.Relationships(ctx, project)
	if err != nil {
		return Map{}, err
	}
	out := Map{Elements: []MapElement{}, Holes: []Hole{}}
	if out.LastMemoryAt, err = v.LastMemoryAt(ctx, orderedSpaceIDs(spaces, keys[:1])); err != nil {
		return Map{}, err
	}
	runs, err := v.LatestTracked(ctx, project)
	if err != nil {
		return Map{}, err
	}
	drifted := driftStates(elements, runs)
	byElement := make(map[uuid.UUID]ElementCoverage, len(covered))
	for _, e := range covered {
		byElement[e.Element] = e
	}
	for _, e := range elements {
		if e.InScope {
			cell := s.cell(e, byElement[e.ID], now)
			cell.Drift = drifted[c4model.FoldKey(e.Key)]
			out.Elements = append(out.Elements, cell)
			if cell.Documented {
				out.Documented++
			}
		}
	}
	out.Total = len(out.Elements)
	out.Headline = fmt.Sprintf("%d of %d elements documented", out.Documented, out.Total)
	out.Holes = holes(out.Elements, degrees(relationships))
	return out, nil
}

// cell is one element of the map.
func (s *Service) cell(e Element, known ElementCoverage, now time.Time) MapElement {
	cell := MapElement{
		Key: e.Key, Name: e.Name, Level: string(e.Level), Parent: e.Parent, Documented: known.Facts > 0,
		Memories: make(map[Kind]int, len(Kinds)), Verify: known.Doubted,
		Activity: Activity{Sessions: known.Sessions},
	}
	for _, k := range Kinds {
		cell.Memories[k] = known.Counts[k]
	}
	if known.Freshest != nil {
		cell.Freshness = s.ranking.Freshness(now.Sub(*known.Freshest))
	}
	return cell
}

// degrees counts the relationships of each element.
func degrees(relationships []c4model.Relationship) map[string]int {
	degree := map[string]int{}
	for _, r := range relationships {
		degree[r.Source]++
		degree[r.Destination]++
	}
	return degree
}

// holes lists the undocumented elements: most active first, then those with the most relationships, since more depends on
// knowing them, then in order of declaration.
func holes(cells []MapElement, degree map[string]int) []Hole {
	empty := slices.DeleteFunc(slices.Clone(cells), func(e MapElement) bool { return e.Documented })
	slices.SortStableFunc(empty, func(a, b MapElement) int {
		return cmp.Or(
			cmp.Compare(b.Activity.Sessions+b.Activity.Commits, a.Activity.Sessions+a.Activity.Commits),
			cmp.Compare(degree[b.Key], degree[a.Key]),
		)
	})
	out := make([]Hole, len(empty))
	for i, e := range empty {
		out[i] = Hole{Key: e.Key, Name: e.Name,
			Command: fmt.Sprintf(`stele remember --element %s --kind pitfall "…"`, shellWord(e.Key))}
	}
	return out
}

// shellWord quotes a word for a shell when it needs it: keys made from names hold a tilde and parentheses.
func shellWord(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/", r)
	})
	if plain && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
