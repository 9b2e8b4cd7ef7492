package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// staleRows is from how many changed rows on the statistics of a table matter: plans over fewer rows are all fast.
const staleRows = 2000

// analyzeTimeout bounds the reading of one table. ANALYZE reads 30,000 pages of it at the most.
const analyzeTimeout = time.Minute

// StaleStatistics gives the tables about most of whose rows the planner knows nothing, as after a first import. PostgreSQL sees to
// them by itself within a minute or so; on a machine whose database stops when nobody uses it, that may be never.
func (db *DB) StaleStatistics(ctx context.Context) ([]string, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	rows, err := conn.Query(ctx, `SELECT relname FROM pg_stat_user_tables
		WHERE schemaname = 'public' AND n_mod_since_analyze >= greatest($1, n_live_tup / 2) ORDER BY relname`, staleRows)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Analyze has the planner learn about tables, as the owner. Reads and writes go on. A table that somebody else works on in a way
// that keeps it from being analyzed is left out.
func Analyze(ctx context.Context, ownerURL string, tables []string) error {
	conn, err := connectOwner(ctx, ownerURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, fmt.Sprintf("SET statement_timeout = %d", analyzeTimeout.Milliseconds())); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := conn.Exec(ctx, "ANALYZE (SKIP_LOCKED) "+pgx.Identifier{"public", table}.Sanitize()); err != nil {
			return fmt.Errorf("analyzing %s: %w", table, err)
		}
	}
	return nil
}
