package recall

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
)

// tick is the unit of processor times in /proc: every Linux that Stele runs on shows hundredths of a second.
const tick = 10 * time.Millisecond

// usage is what processes have taken so far.
type usage struct {
	process  time.Duration
	backends map[int]time.Duration // of the database, by process
	active   time.Duration         // that the database spent on statements, by its own account
}

// look asks the system and the database. Where processes cannot be looked at, as on another machine or system, times are 0.
func look(ctx context.Context, db *postgres.DB) (usage, error) {
	u := usage{process: processor("self"), backends: map[int]time.Duration{}}
	err := db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type IN ('client backend', 'autovacuum worker')`)
		if err != nil {
			return err
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if isPostgres(pid) {
				u.backends[pid] = processor(strconv.Itoa(pid))
			}
		}
		var active float64
		err = tx.QueryRow(ctx, `SELECT active_time FROM pg_stat_database WHERE datname = current_database()`).Scan(&active)
		u.active = time.Duration(active * float64(time.Millisecond))
		return err
	})
	if err != nil {
		return usage{}, fmt.Errorf("asking how busy the database was: %w", err)
	}
	return u, nil
}

// isPostgres tells whether a process of this machine is one of PostgreSQL: a number from another machine may be anybody's.
func isPostgres(pid int) bool {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err == nil && bytes.HasPrefix(name, []byte("postgres"))
}

// processor is what a process had of processors, user and system.
func processor(pid string) time.Duration {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	// The name, in brackets, may hold anything. After it come the fields from the third on; the 14th and 15th are the times.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(string(f))
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// since gives what was taken between two looks.
func (u usage) since(before usage) (process, backends, active time.Duration) {
	for pid, t := range u.backends {
		backends += t - before.backends[pid]
	}
	return u.process - before.process, backends, u.active - before.active
}

// resident is the memory of this process that is in use now, in bytes; 0 where the system does not tell.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(status)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Table is what a table takes.
type Table struct {
	Rows       int64 `json:"rows"` // as PostgreSQL estimates
	Bytes      int64 `json:"bytes"`
	IndexBytes int64 `json:"index_bytes"`
}

// tables gives those that grow with memories.
func tables(ctx context.Context, db *postgres.DB) (map[string]Table, error) {
	out := map[string]Table{}
	err := db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT relname, greatest(reltuples, 0)::bigint, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relname IN ('memories', 'memory_versions', 'attachments', 'posting_blocks', 'memory_terms', 'vectors', 'audit')`)
		if err != nil {
			return err
		}
		var name string
		var t Table
		_, err = pgx.ForEachRow(rows, []any{&name, &t.Rows, &t.Bytes, &t.IndexBytes}, func() error {
			out[name] = t
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("asking for the size of tables: %w", err)
	}
	return out, nil
}
