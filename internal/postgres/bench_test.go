package postgres_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// BenchmarkTransaction compares the tenant transaction, which names its organization in the message that begins it, with
// the plain way of a statement of its own for each. Both read one small table.
func BenchmarkTransaction(b *testing.B) {
	d := pgtest.NewDatabase(b)
	org := uuid.New()
	ctx := b.Context()
	read := func(tx pgx.Tx) error {
		var n int
		return tx.QueryRow(ctx, "SELECT count(*) FROM projects").Scan(&n)
	}
	b.Run("way=InOrg", func(b *testing.B) {
		for b.Loop() {
			if err := d.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, read); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=statements", func(b *testing.B) {
		conn := d.ConnectApp(b) //nolint:contextcheck // the clean-up runs when the benchmark context is over
		for b.Loop() {
			err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, "SELECT set_config('statement_timeout', '30s', true)"); err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "SELECT set_config('app.org_id', $1, true)", org.String()); err != nil {
					return err
				}
				return read(tx)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
