package postgres_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// Ids arrive and come back as they are, alone and in slices, as pointers and as nothing.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := uuid.New(), uuid.New()
	err := db.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
		var text string
		var one uuid.UUID
		var many []uuid.UUID
		pointer, none, missing := &b, &b, a
		err := tx.QueryRow(t.Context(), `SELECT $1::uuid::text, $1::uuid, $2::uuid[], $3::uuid, NULL::uuid, NULL::uuid`, a, []uuid.UUID{a, b}, &a).
			Scan(&text, &one, &many, &pointer, &none, &missing)
		if err != nil {
			return err
		}
		if text != a.String() || one != a || len(many) != 2 || many[0] != a || many[1] != b || *pointer != a || none != nil || missing != a {
			t.Errorf("%s, %s, %s, %v, %v, %s", text, one, many, pointer, none, missing)
		}
		rows, err := tx.Query(t.Context(), `SELECT unnest($1::uuid[])`, []uuid.UUID{b, a})
		if err != nil {
			return err
		}
		if many, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID]); err != nil || len(many) != 2 || many[0] != b {
			t.Errorf("%s, %v", many, err)
		}
		// As text, too, where a column is one, and in the simple protocol.
		err = tx.QueryRow(t.Context(), `SELECT $1::text, $2::text[]`, a, []uuid.UUID{b}).Scan(&text, nil)
		if err != nil || text != a.String() {
			t.Errorf("%s, %v", text, err)
		}
		err = tx.QueryRow(t.Context(), `SELECT $1::uuid`, pgx.QueryExecModeSimpleProtocol, b).Scan(&one)
		if err != nil || one != b {
			t.Errorf("%s, %v", one, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
