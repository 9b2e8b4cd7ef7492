package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// maxWhy bounds the memories shown about one file; more than that is no answer to read.
const maxWhy = 200

// Why gives everything known and doubted about a file: memories that name it, a folder above it or a glob that covers it,
// and those of the elements whose bindings own it. Doubted ones come first, newest doubt first, then by weight of kind and
// newest confirmation. Expired ones are shown too, marked. It works before any binding. line is 1-based, 0 for the file.
func (s *Service) Why(ctx context.Context, c Caller, path string, line int) (WhyResponse, error) {
	path, err := CleanPath("path", path)
	if err != nil {
		return WhyResponse{}, err
	}
	switch {
	case line < 0:
		return WhyResponse{}, problem.Invalidf("line", "%d is not a line", line).Fix("count lines from 1")
	case c.Project == uuid.Nil:
		return WhyResponse{}, problem.Invalidf("project", "no project is chosen").Fix("name one, or run `stele init` in the repository")
	}
	out := WhyResponse{Path: path, Line: line, Elements: []ElementRef{}, Entries: []WhyEntry{}}
	err = s.view(ctx, c, func(v View) error {
		out.Elements, out.Entries = out.Elements[:0], out.Entries[:0]
		return s.why(ctx, v, c, &out)
	})
	if err != nil {
		return WhyResponse{}, fmt.Errorf("why: %w", err)
	}
	return out, nil
}

func (s *Service) why(ctx context.Context, v View, c Caller, out *WhyResponse) error {
	keys := c.spaceKeys()
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return err
	}
	ids := orderedSpaceIDs(spaces, keys)
	owners, named, err := about(ctx, v, c.Project, ids, []string{out.Path})
	if err != nil {
		return err
	}
	search := Search{Spaces: ids, Browse: true, Ranking: s.ranking, At: s.now(), Expired: true, Limit: maxWhy}
	search.Narrow.ByPath = true
	matched := map[uuid.UUID]string{}
	for _, m := range named {
		search.Narrow.PathMemories = append(search.Narrow.PathMemories, m.Memory)
		if matched[m.Memory] == "" {
			matched[m.Memory] = "path " + m.Pattern
		}
	}
	bindings, err := v.Bindings(ctx, c.Project)
	if err != nil {
		return err
	}
	boundBy := map[uuid.UUID]string{}
	for _, o := range owners {
		out.Elements = append(out.Elements, o.Element.Ref())
		search.Narrow.PathElements = append(search.Narrow.PathElements, o.Element.ID)
		boundBy[o.Element.ID] = fmt.Sprintf("%s, bound by %s", o.Element.Key, strings.Join(patternsOf(bindings, o.Element.ID), ", "))
	}
	found, err := v.Search(ctx, search)
	if err != nil {
		return err
	}
	memories := make([]uuid.UUID, len(found.Candidates))
	for i, f := range found.Candidates {
		memories[i] = f.ID
	}
	records, err := v.Records(ctx, memories)
	if err != nil {
		return err
	}
	if err := s.resolveLinks(ctx, v, c, records); err != nil {
		return err
	}
	doubted, err := v.DoubtsSince(ctx, memories)
	if err != nil {
		return err
	}
	s.orderWhy(records, doubted)
	for i := range records {
		m := records[i].shown(search.At)
		because := matched[m.ID]
		for _, e := range m.Elements {
			if because == "" {
				because = boundBy[e.ID]
			}
		}
		out.Entries = append(out.Entries, WhyEntry{Memory: m, Matched: because})
	}
	return nil
}

// orderWhy sorts by newest doubt, weight of kind, newest confirmation, handle.
func (s *Service) orderWhy(records []Record, doubted map[uuid.UUID]time.Time) {
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(
			doubted[b.ID].Compare(doubted[a.ID]),
			cmp.Compare(s.ranking.Kind[b.Kind], s.ranking.Kind[a.Kind]),
			b.ConfirmedAt.Compare(a.ConfirmedAt),
			cmp.Compare(a.Handle, b.Handle),
		)
	})
}

// patternsOf lists the patterns of one element.
func patternsOf(bindings []ElementBinding, element uuid.UUID) []string {
	var out []string
	for _, b := range bindings {
		if b.ElementID == element {
			out = append(out, b.Pattern)
		}
	}
	return out
}
