package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Contents is how much a database holds: the migration it is at, and the rows of every table of the schema public.
type Contents struct {
	Migration int64
	Rows      map[string]int64
}

// Count counts what a database holds, as a role that row-level security does not bind. conn may be in a transaction.
func Count(ctx context.Context, conn *pgx.Conn) (Contents, error) {
	v, err := version(ctx, conn)
	if err != nil {
		return Contents{}, fmt.Errorf("asking for the migrated version: %w", err)
	}
	rows, err := conn.Query(ctx, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`)
	if err != nil {
		return Contents{}, fmt.Errorf("listing the tables: %w", err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return Contents{}, fmt.Errorf("listing the tables: %w", err)
	}
	c := Contents{Migration: v.Current, Rows: map[string]int64{}}
	for _, table := range tables {
		var n int64
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM public."+pgx.Identifier{table}.Sanitize()).Scan(&n); err != nil {
			return Contents{}, fmt.Errorf("counting the rows of %s: %w", table, err)
		}
		c.Rows[table] = n
	}
	return c, nil
}

// Total is the number of rows of all tables.
func (c Contents) Total() (n int64) {
	for _, rows := range c.Rows {
		n += rows
	}
	return n
}

// Differences says in words how other is not what c is; empty when both hold the same.
func (c Contents) Differences(other Contents) (out []string) {
	if c.Migration != other.Migration {
		out = append(out, fmt.Sprintf("it is at migration %d, the database was at %d", other.Migration, c.Migration))
	}
	tables := map[string]bool{}
	for table := range c.Rows {
		tables[table] = true
	}
	for table := range other.Rows {
		tables[table] = true
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if want, got := c.Rows[table], other.Rows[table]; want != got {
			out = append(out, fmt.Sprintf("%s has %d rows, the database had %d", table, got, want))
		}
	}
	return out
}

// CountedBackup is Backup that also counts, in the very snapshot the backup is taken from: what is written meanwhile is in
// neither.
func CountedBackup(ctx context.Context, inst installation.Installation, adminURL, file string) (counted Contents, err error) {
	conn, err := connectAdmin(ctx, adminURL, "")
	if err != nil {
		return Contents{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	// The transaction waits while pg_dump works, so nothing may end it for being idle; and row_security = off makes a role
	// that policies bind fail instead of counting what they show it.
	const begin = `BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ;
		SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; SET LOCAL row_security = off`
	if _, err := conn.Exec(ctx, begin); err != nil {
		return Contents{}, unreachable(err)
	}
	var snapshot string
	if err := conn.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshot); err != nil {
		return Contents{}, fmt.Errorf("keeping a snapshot for the backup: %w", err)
	}
	if counted, err = Count(ctx, conn); err != nil {
		if IsForbidden(err) {
			return Contents{}, notAllowed("counting what the database holds", err)
		}
		return Contents{}, err
	}
	return counted, dump(ctx, inst, adminURL, file, "--snapshot="+snapshot)
}

// scratchLock is the first part of the advisory lock of a scratch database, the bytes of "scra"; the second is a number of
// its name. It is held in the database "postgres", by the session that made the scratch, so it goes with that session.
const scratchLock int32 = 0x73637261

// InScratch restores a backup into a database of its own beside the one that adminURL names, on the same server, runs
// examine in it as the administrator, and drops it, whatever happens. The data that is there is not touched. A scratch
// that a killed process left is dropped by the next. Two at once on one database are a problem of code Conflict.
//
// The backup has been restored whole, is of a migration this binary serves and keeps organizations apart when examine runs.
func InScratch(ctx context.Context, inst installation.Installation, adminURL, file string, examine func(context.Context, *pgx.Conn) error) error {
	if err := readable(ctx, inst, file); err != nil {
		return err
	}
	return inScratch(ctx, adminURL, "_scratch", func(scratch string) error {
		if err := fill(ctx, inst, adminURL, scratch, file); err != nil {
			return err
		}
		conn, err := connectAdmin(ctx, adminURL, scratch)
		if err != nil {
			return err
		}
		// Before the drop, which would end the session the hard way.
		defer conn.Close(context.WithoutCancel(ctx))
		return examine(ctx, conn)
	})
}

// Scratch says where an empty database may be made, and what for.
type Scratch struct {
	AdminURL, OwnerURL, AppURL string
	// Suffix is what its name ends in, so that several may be there at once; "_bench" when empty.
	Suffix string
	// Tracer is told of every statement that DB sends; may be nil.
	Tracer pgx.QueryTracer
}

// InEmptyScratch makes an empty database of its own beside the one that the addresses name, migrated, runs work on it as
// stele_app, and drops it, as InScratch does. work is also told the owner's address of it.
func InEmptyScratch(ctx context.Context, s Scratch, work func(ctx context.Context, db *DB, ownerURL string) error) error {
	return inScratch(ctx, s.AdminURL, cmp.Or(s.Suffix, "_bench"), func(scratch string) error {
		owner := inDatabase(s.OwnerURL, scratch)
		db, err := Open(ctx, Config{URL: inDatabase(s.AppURL, scratch), OwnerURL: owner, Tracer: s.Tracer})
		if err != nil {
			return err
		}
		defer db.Close()
		return work(ctx, db, owner)
	})
}

// Vacuum does at once what PostgreSQL does by itself in a while after much was written: it takes statistics, and notes which pages
// need not be looked at to know what is visible.
func Vacuum(ctx context.Context, ownerURL string) error {
	conn, err := connectOwner(ctx, ownerURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `VACUUM (ANALYZE, SKIP_LOCKED)`); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return nil
}

// inDatabase is an address with another database.
func inDatabase(address, name string) string {
	if u, err := url.Parse(address); err == nil && u.Scheme != "" {
		u.Path = "/" + name
		return u.String()
	}
	return address + " dbname='" + name + "'" // of two the last one counts
}

// inScratch makes a database beside the one that adminURL names, runs work, and drops it.
func inScratch(ctx context.Context, adminURL, suffix string, work func(name string) error) (err error) {
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		return problem.New(problem.Invalid, "STELE_DATABASE_ADMIN_URL", "the administrator's address of the database cannot be read",
			"write it as postgres://postgres:PASSWORD@HOST:5432/stele")
	}
	admin, err := connectAdmin(ctx, adminURL, "postgres")
	if err != nil {
		return err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	scratch := beside(config.Database, suffix)
	var free bool
	if err := admin.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, hashtext($2))", scratchLock, scratch).Scan(&free); err != nil {
		return fmt.Errorf("taking the lock of the scratch database: %w", err)
	}
	if !free {
		return problem.New(problem.Conflict, "", "another process works in the scratch database "+scratch, "wait for it to end")
	}
	drop := func() error {
		// Whoever interrupted the work does not want to find its remains either.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if _, err := admin.Exec(ctx, dropDatabase(scratch)); err != nil {
			return notAllowed("removing the scratch database "+scratch, err)
		}
		return nil
	}
	if err := drop(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	if err := Bootstrap(ctx, adminURL, Roles{Database: scratch}); err != nil {
		return err
	}
	return interrupted(ctx, work(scratch))
}

// interrupted prefers that the work was stopped over what it failed with then.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%s)", ctx.Err(), strings.ReplaceAll(err.Error(), "\n", ", "))
	}
	return err
}
