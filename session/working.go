package session

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// WorkOn implements memory.Workers: the sessions at work on elements of the caller's project, longest at it first. The caller's own
// is left out.
func (s *Service) WorkOn(ctx context.Context, c memory.Caller, elements []uuid.UUID) ([]memory.Work, error) {
	var out []memory.Work
	err := s.view(ctx, c, func(v View) error {
		out = nil
		active, err := v.Sessions(ctx, Query{Project: c.Project, State: Active, Since: s.memory.Now().Add(-Lifetime), Elements: elements, Limit: mostActive})
		if err != nil || len(active) == 0 {
			return err
		}
		ids := make([]uuid.UUID, len(active))
		for i, st := range active {
			ids[i] = st.ID
		}
		leases, err := leasesOf(ctx, v, c.Project, ids, true)
		if err != nil {
			return err
		}
		for _, st := range active {
			if st.User == c.User && st.Name == c.Session {
				continue
			}
			w := memory.Work{Session: st.Name, Author: st.by(), Task: st.Body.Task}
			for _, l := range leases[st.ID] {
				if slices.Contains(elements, l.Element.ID) {
					w.Elements = append(w.Elements, l.Element.Key)
					if w.Since.IsZero() {
						w.Since = l.TakenAt
					}
				}
			}
			out = append(out, w)
		}
		slices.SortStableFunc(out, func(a, b memory.Work) int { return a.Since.Compare(b.Since) })
		return nil
	})
	return out, err
}
