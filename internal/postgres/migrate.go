package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/migrations"
)

// migrationLock is the key of the advisory lock under which migrations run: the bytes of "stele" as a number. A session
// of Stele takes no other advisory lock with a one-part key.
const migrationLock int64 = 0x7374656c65

// KeysLock is the first part of the advisory locks under which an organization's keysets change (pg_advisory_xact_lock with
// two parts); the second is a hash of the organization. It is the bytes of "keys" as a number. One-part and two-part keys
// never meet.
const KeysLock int32 = 0x6b657973

// WantedVersion is the number of the newest migration this binary carries.
func WantedVersion() int64 { return newest(migrations.FS) }

func newest(fsys fs.FS) int64 {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0 // the pattern is a constant
	}
	var highest int64
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

// Version is how far a database is migrated, beside what this binary carries.
type Version struct {
	Current int64 `json:"current"` // 0: no migration was applied
	Wanted  int64 `json:"wanted"`
	// Floor is the oldest migration a binary must carry to serve the schema as it is now. Migrations raise it when they
	// take away what older binaries need (function schema_floor). A schema that does not say is taken to need Current.
	Floor int64 `json:"floor"`
}

// Serves tells whether a binary that carries Wanted can serve the schema: nil, or a problem that says what to do. A schema
// that is newer than the binary will do as long as its floor does, so that replicas are replaced one by one.
func (v Version) Serves() error {
	switch {
	case v.Current < v.Wanted:
		return problem.New(problem.Unavailable, "STELE_DATABASE_OWNER_URL",
			fmt.Sprintf("the database is at migration %d and this stele needs %d", v.Current, v.Wanted),
			"set STELE_DATABASE_OWNER_URL to the address of "+OwnerRole+" and run: stele db migrate")
	case v.Current > v.Wanted && v.Floor > v.Wanted:
		return newerDatabase(v)
	}
	return nil
}

// Version tells how far the database is migrated.
func (db *DB) Version(ctx context.Context) (Version, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return Version{}, err
	}
	defer conn.Release()
	return version(ctx, conn)
}

type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ReadVersion is DB.Version on a connection of any role.
func ReadVersion(ctx context.Context, conn *pgx.Conn) (Version, error) { return version(ctx, conn) }

func version(ctx context.Context, q queryer) (Version, error) {
	v := Version{Wanted: WantedVersion()}
	err := q.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM public.goose_db_version WHERE is_applied").Scan(&v.Current)
	// No such table, no such schema, or not granted yet: the first migration has not finished.
	if state := SQLState(err); state == "42P01" || state == "3F000" || state == "42501" {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Floor, err = floor(v.Current, func(sql string, to any) error { return q.QueryRow(ctx, sql).Scan(to) })
	return v, err
}

// floor asks the schema for its floor, without a statement that could fail and end a transaction.
func floor(current int64, ask func(sql string, to any) error) (int64, error) {
	var stated bool
	err := ask("SELECT coalesce(has_function_privilege(to_regprocedure('public.schema_floor()'), 'EXECUTE'), false)", &stated)
	if err != nil || !stated {
		return current, err
	}
	var n int64
	err = ask("SELECT public.schema_floor()", &n)
	return n, err
}

// checkVersion makes sure that the schema fits this binary.
func (db *DB) checkVersion(ctx context.Context, cfg Config) error {
	v, err := db.Version(ctx)
	if err != nil {
		return unreachable(err)
	}
	return bringForward(ctx, v, cfg)
}

// bringForward migrates a database that is behind, if cfg allows.
func bringForward(ctx context.Context, v Version, cfg Config) error {
	if v.Current >= v.Wanted || cfg.OwnerURL == "" {
		return v.Serves()
	}
	if cfg.BeforeMigrate != nil && v.Current > 0 {
		if err := cfg.BeforeMigrate(ctx, v.Current, v.Wanted); err != nil {
			return err
		}
	}
	_, err := Migrate(ctx, cfg.OwnerURL)
	return err
}

func newerDatabase(v Version) error {
	return problem.New(problem.Unavailable, "",
		fmt.Sprintf("the database is at migration %d, newer than this stele, which knows %d", v.Current, v.Wanted),
		"install the newer stele that migrated it", "or restore a backup from before: stele db restore FILE")
}

// Migrate applies the missing migrations as the owner, each in its own transaction. Several processes may call it at
// once: one applies them while the others wait. A database that is newer than this binary is left as it is, which is an
// error only when the binary cannot serve it. It returns the version before and the wanted one.
func Migrate(ctx context.Context, ownerURL string) (Version, error) {
	return migrate(ctx, ownerURL, migrations.FS)
}

func migrate(ctx context.Context, ownerURL string, fsys fs.FS) (Version, error) {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return Version{}, problem.New(problem.Invalid, "STELE_DATABASE_OWNER_URL", "the address of the database cannot be read",
			"write it as postgres://"+OwnerRole+":PASSWORD@HOST:5432/stele")
	}
	config.RuntimeParams["application_name"] = "stele migrate"
	missClient(&config.Config)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if err := refuseForeignOwner(ctx, db); err != nil {
		return Version{}, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, fsys,
		goose.WithSessionLocker(sessionLock{}), goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return Version{}, fmt.Errorf("reading the migrations: %w", err)
	}
	current, wanted, err := provider.GetVersions(ctx)
	if err != nil {
		return Version{}, fmt.Errorf("asking for the migrated version: %w", err)
	}
	v := Version{Current: current, Wanted: wanted}
	if current > wanted {
		v.Floor, err = floor(current, func(sql string, to any) error { return db.QueryRowContext(ctx, sql).Scan(to) })
		if err != nil {
			return v, fmt.Errorf("asking for the floor of the schema: %w", err)
		}
		return v, v.Serves()
	}
	if _, err := provider.Up(ctx); err != nil {
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			return v, problem.New(problem.Unavailable, "",
				fmt.Sprintf("migration %s failed and was rolled back: %v", path.Base(partial.Failed.Source.Path), reason(partial.Err)),
				"the database is as it was before that migration: fix the cause and run stele db migrate").Because(err)
		}
		return v, fmt.Errorf("migrating: %w", err)
	}
	// The service reads this one table to learn whether the schema fits it.
	return v, grantVersion(ctx, db)
}

func grantVersion(ctx context.Context, db *sql.DB) error {
	var granted bool
	err := db.QueryRowContext(ctx, "SELECT has_table_privilege($1, 'public.goose_db_version', 'SELECT')", AppRole).Scan(&granted)
	if err == nil && !granted {
		_, err = db.ExecContext(ctx, "GRANT SELECT ON public.goose_db_version TO "+AppRole)
		if SQLState(err) == "XX000" { // "tuple concurrently updated": another process granted it at the same moment
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("granting the version table: %w", err)
	}
	return nil
}

// refuseForeignOwner keeps tables from being created by any other role: they would belong to it, and if that role is
// a superuser, policies and grants would look right and mean nothing.
func refuseForeignOwner(ctx context.Context, db *sql.DB) error {
	var current string
	if err := db.QueryRowContext(ctx, "SELECT current_user").Scan(&current); err != nil {
		return unreachable(err)
	}
	if current != OwnerRole {
		return problem.New(problem.Forbidden, "STELE_DATABASE_OWNER_URL", fmt.Sprintf("connected as role %q", current),
			"connect as "+OwnerRole+", the role that owns the tables")
	}
	return nil
}

// sessionLock is goose's lock: a PostgreSQL advisory lock held by the session that migrates, so a process that dies
// releases it. It is tried for rather than waited for in the server: a waiting statement holds a snapshot, and a
// migration that builds an index concurrently would wait for that snapshot for ever.
type sessionLock struct{}

func (sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for {
		var got bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", migrationLock).Scan(&got); err != nil {
			return fmt.Errorf("taking the migration lock: %w", err)
		}
		if got {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for another process to finish migrating: %w", ctx.Err())
		}
	}
}

func (sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", migrationLock)
	return err
}
