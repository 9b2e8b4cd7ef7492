package postgres_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// The postings that a database has when blocks come are all in blocks afterwards, for every tenant and seen by it alone, and counted.
func TestPostingsBecomeBlocks(t *testing.T) {
	t.Parallel()
	d := pgtest.NewEmpty(t)
	before := release(t)
	for name := range before {
		if name >= "00020" {
			delete(before, name)
		}
	}
	if _, err := postgres.MigrateFS(t.Context(), d.Owner, before); err != nil {
		t.Fatal(err)
	}
	admin := d.ConnectAdmin(t)
	orgs := []uuid.UUID{uuid.New(), uuid.New()}
	lengths := []int{1, 127, 128, 129, 256, 300} // of the lists of the terms 0, -1, -2, …
	for _, org := range orgs {
		for space := range 2 {
			for term, n := range lengths {
				_, err := admin.Exec(t.Context(), `INSERT INTO postings (org_id, space_id, term, seq) SELECT $1, $2, $3, 3 * i + $2 FROM generate_series(1, $4) AS i`, org, space, -term, n)
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if _, err := postgres.Migrate(t.Context(), d.Owner); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), postgres.Config{URL: d.App})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, org := range orgs {
		type list struct {
			seqs   []int32
			df     int
			blocks []int
		}
		got := map[[2]int64]list{}
		if err := db.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
			rows, err := tx.Query(t.Context(), `SELECT space_id, term, upto, df, seqs FROM posting_blocks ORDER BY space_id, term, upto`)
			if err != nil {
				return err
			}
			var space, term int64
			var upto int32
			var df int
			var seqs []int32
			_, err = pgx.ForEachRow(rows, []any{&space, &term, &upto, &df, &seqs}, func() error {
				l := got[[2]int64{space, term}]
				slices.Sort(seqs)
				if upto != 1<<31-1 && upto != seqs[len(seqs)-1] {
					t.Errorf("a block up to %d has %v", upto, seqs)
				}
				l.seqs, l.df, l.blocks = append(l.seqs, seqs...), l.df+df, append(l.blocks, len(seqs))
				if upto == 1<<31-1 {
					l.blocks = append(l.blocks, -1)
				}
				got[[2]int64{space, term}] = l
				return nil
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2*len(lengths) {
			t.Errorf("%d lists, want those of one tenant", len(got))
		}
		for space := range int64(2) {
			for term, n := range lengths {
				l := got[[2]int64{space, -int64(term)}]
				var want []int32
				blocks := []int{}
				for i := range n {
					want = append(want, int32(3*(i+1))+int32(space))
				}
				for left := n; left > 0; left -= 128 {
					blocks = append(blocks, min(left, 128))
				}
				if !slices.Equal(l.seqs, want) || l.df != n || !slices.Equal(l.blocks, append(blocks, -1)) {
					t.Errorf("term %d of space %d: blocks %v, %d counted, %v", -term, space, l.blocks, l.df, l.seqs)
				}
			}
		}
	}
	var forced bool
	if err := admin.QueryRow(t.Context(), `SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE relname = 'posting_blocks'`).Scan(&forced); err != nil || !forced {
		t.Errorf("row-level security of the blocks is forced: %v, %v", forced, err)
	}
	var kept int
	if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relname IN ('postings', 'term_frequencies')`).Scan(&kept); err != nil || kept > 0 {
		t.Errorf("%d of the tables before are there, %v", kept, err)
	}
}
