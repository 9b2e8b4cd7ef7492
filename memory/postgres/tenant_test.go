package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// Who makes a project waits for no writer of the organization whose answer is kept, nor such a writer for them: an answer
// refers to the organization's row.
func TestCreateProjectBesideAnswers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _, org := keysStore(t)
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	by := memory.Caller{Org: org, User: "u", Role: memory.RoleAdmin, Door: memory.FromCLI}
	// Whoever makes a space holds the row itself.
	if err := s.Write(ctx, org, spaces, func(memory.Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	err := s.Write(ctx, org, spaces, func(w memory.Tx) error {
		if err := w.Answer(ctx, memory.Answer{Key: [32]byte{1}, At: time.Now(), Body: []byte(`{}`)}); err != nil {
			return err
		}
		if err := w.(*tx).pipeline.flush(ctx); err != nil {
			return err
		}
		// It fails by its statement timeout when it waits for this transaction.
		_, err := s.CreateProject(ctx, by, memory.ProjectInfo{ID: uuid.New(), Name: "shop", CreatedAt: time.Now()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
