package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stele-dev/stele/memory"
)

// Values that no list or recall could show do not get into the database, whoever writes them.
func TestImpossibleValuesAreRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "what is counted is not below nothing"}).Memory
	owner := w.h.database.ConnectAdmin(t)
	for _, set := range []string{"citations = -1", "ignored_by = -1", "confirmations = -1", "served = -1", "term_count = -1", "revision = 0", "confirmed_at = 'infinity'",
		"created_at = '-infinity'", "expires_at = 'infinity'", "confirmed_at = '10000-01-01'", "expires_at = '0044-03-15 BC'"} {
		_, err := owner.Exec(ctx, `UPDATE memories SET `+set+` WHERE memory_id = $1`, m.ID)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" {
			t.Errorf("%s: %v, want a violated check", set, err)
		}
	}
	if _, err := owner.Exec(ctx, `UPDATE memories SET citations = 0, expires_at = '9999-12-31 23:59:59Z' WHERE memory_id = $1`, m.ID); err != nil {
		t.Error(err)
	}
}
