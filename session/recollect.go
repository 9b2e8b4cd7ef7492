package session

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Recollection is an open session and what its client has before it of what it was shown.
type Recollection struct {
	ID     uuid.UUID
	Name   string
	Task   string
	edited map[string]bool
	shown  map[uuid.UUID]Shown // the newest showing of each memory since the client last forgot
}

// Has tells whether the client has a memory before it as it is: what was changed or came into doubt since is news.
func (r Recollection) Has(m memory.Memory) bool {
	s, ok := r.shown[m.ID]
	return ok && s.Revision >= m.Revision && !m.DoubtedAt.After(s.Doubted)
}

// Edited tells whether the session edited a file.
func (r Recollection) Edited(path string) bool { return r.edited[path] }

// Recollect gives the caller's session; false when it has none that is open.
func (s *Service) Recollect(ctx context.Context, c memory.Caller) (Recollection, bool, error) {
	var out Recollection
	var found bool
	err := s.view(ctx, c, func(v View) error {
		out, found = Recollection{edited: map[string]bool{}, shown: map[uuid.UUID]Shown{}}, false
		st, ok, err := v.Session(ctx, c.User, keyOf(c.User, c.Session))
		if err != nil || !ok || st.Project != c.Project || st.State != Active {
			return err
		}
		shown, err := v.ShownTo(ctx, st.Name)
		if err != nil {
			return err
		}
		edits, err := v.Edits(ctx, []uuid.UUID{st.ID}, time.Time{})
		if err != nil {
			return err
		}
		for _, e := range edits {
			out.edited[e.Path] = true
		}
		out.ID, out.Name, out.Task, found = st.ID, st.Name, st.Body.Task, true
		for _, w := range shown {
			// A line of an index names a memory and says nothing of it.
			if w.Door != memory.DoorIndex && w.LastAt.After(st.Body.ForgotAt) && !w.LastAt.Before(out.shown[w.Memory].LastAt) {
				out.shown[w.Memory] = w
			}
		}
		return nil
	})
	if err != nil {
		return out, false, fmt.Errorf("recollect work session: %w", err)
	}
	return out, found, nil
}
