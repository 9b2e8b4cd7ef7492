// Package postgres opens the database and holds the one helper through which every query of a tenant runs.
//
// Isolation rests on three things that this package keeps together: the service connects as stele_app, a role that owns
// nothing and that row-level security binds (checked on every connection); every table of a tenant has row-level
// security forced; and InOrg names the organization for exactly one transaction.
//
// The server may be any PostgreSQL that Bootstrap prepared, among them the private cluster of package embedded.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	pgvector "github.com/pgvector/pgvector-go/pgx"

	"github.com/stele-dev/stele/internal/problem"
)

// Names of the two roles; migrations grant to AppRole by name.
const (
	OwnerRole = "stele_owner" // migrates and owns
	AppRole   = "stele_app"   // serves
)

// Config says which database to open and how. Zero values mean the defaults.
type Config struct {
	// URL connects as stele_app (STELE_DATABASE_URL): a postgres:// address or libpq's key=value form.
	URL string
	// OwnerURL connects as stele_owner (STELE_DATABASE_OWNER_URL). When it is set, Open applies missing migrations.
	OwnerURL string
	// MaxConns bounds the pool; default 4 per processor, at least 8 and at most 32.
	MaxConns int32
	// StatementTimeout bounds each statement of a transaction that names no timeout of its own; default 30 s.
	StatementTimeout time.Duration
	// SilenceTimeout bounds how long the server waits for the next statement of a transaction; default 10 s. A client that
	// lost its network may be silent for hours before TCP says so, and keeps everybody from the rows that it locked.
	SilenceTimeout time.Duration
	// ConnectTimeout bounds one attempt to connect; default 10 s.
	ConnectTimeout time.Duration
	// BeforeConnect runs before every new connection; the embedded cluster uses it to come back when it was stopped.
	BeforeConnect func(context.Context) error
	// BeforeMigrate runs before migrations are applied to a database that holds data, with the versions it goes from
	// and to; an error keeps the database as it is. Used for a backup.
	BeforeMigrate func(ctx context.Context, from, to int64) error
	// Tracer is told of every statement; for measurements. It may be nil.
	Tracer pgx.QueryTracer
}

func (c Config) withDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = int32(min(max(8, 4*runtime.GOMAXPROCS(0)), 32))
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 30 * time.Second
	}
	if c.SilenceTimeout == 0 {
		c.SilenceTimeout = 10 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	return c
}

// DB is a pool of connections as stele_app. It is safe for concurrent use.
type DB struct {
	pool     *pgxpool.Pool
	timeout  time.Duration // of a statement, unless a transaction names its own
	silence  time.Duration // between two statements of a transaction
	restarts bool          // Config.BeforeConnect starts the server when it is down
}

// Open connects, refuses a role that row-level security would not bind, and makes sure that the schema is the one this
// binary was built for: it migrates when OwnerURL is given, else a difference is an error. Errors are *problem.Error.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg = cfg.withDefaults()
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		// The parser's text may quote the password, so it is kept out of sight.
		return nil, problem.New(problem.Invalid, "STELE_DATABASE_URL", "the address of the database cannot be read",
			"write it as postgres://stele_app:PASSWORD@HOST:5432/stele")
	}
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.ConnConfig.ConnectTimeout = cfg.ConnectTimeout
	pc.ConnConfig.DialFunc = dialGuarded
	pc.PingTimeout = pongTimeout
	if pc.ConnConfig.RuntimeParams["application_name"] == "" {
		pc.ConnConfig.RuntimeParams["application_name"] = "stele"
	}
	missClient(&pc.ConnConfig.Config)
	// A caller who gives up also stops the statement on the server, and the connection stays usable.
	pc.ConnConfig.BuildContextWatcherHandler = cancelStatement
	if cfg.BeforeConnect != nil {
		pc.BeforeConnect = func(ctx context.Context, _ *pgx.ConnConfig) error { return cfg.BeforeConnect(ctx) }
	}
	pc.AfterConnect = inspectConnection
	pc.ConnConfig.Tracer = cfg.Tracer
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, unreachable(err)
	}
	db := &DB{pool: pool, timeout: cfg.StatementTimeout, silence: cfg.SilenceTimeout, restarts: cfg.BeforeConnect != nil}
	if err := db.checkVersion(ctx, cfg); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// cancelStatement stops the statement of a connection on the server when its context ends.
func cancelStatement(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 2 * time.Second}
}

// Close waits for running transactions and closes the connections.
func (db *DB) Close() { db.pool.Close() }

// Verify makes sure that the schema keeps organizations apart; see VerifyIsolation.
func (db *DB) Verify(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return VerifyIsolation(ctx, conn.Conn())
}

// CheckSchema tells whether this binary can serve the schema as it is now.
func (db *DB) CheckSchema(ctx context.Context) error {
	v, err := db.Version(ctx)
	if err != nil {
		return err
	}
	return v.Serves()
}

// IndexBytes is how much what memories are found by takes, in bytes: posting lists, the terms of each memory, and vectors, with indexes.
func (db *DB) IndexBytes(ctx context.Context) (int64, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	var n int64
	err = conn.QueryRow(ctx, `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN ('posting_blocks', 'memory_terms', 'vectors')`).Scan(&n)
	return n, err
}

// Stat tells how busy the pool is.
func (db *DB) Stat() *pgxpool.Stat { return db.pool.Stat() }

// Ping tells whether a statement can be run now.
func (db *DB) Ping(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := conn.Ping(ctx); err != nil {
		return unreachable(err)
	}
	return nil
}

// inspectConnection looks at every new connection, in one round trip: it refuses a role that row-level security does not
// bind, and teaches the connection the halfvec type, whose OID differs from database to database, and to send UUIDs as they are
// instead of as text.
func inspectConnection(ctx context.Context, conn *pgx.Conn) error {
	const query = `
		SELECT current_user, session_user, r.rolsuper, r.rolbypassrls,
		       EXISTS (SELECT FROM pg_catalog.pg_roles p
		               WHERE p.oid <> r.oid AND (p.rolsuper OR p.rolbypassrls OR p.rolname = $1)
		                 AND pg_catalog.pg_has_role(r.oid, p.oid, 'MEMBER')),
		       EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relowner = r.oid AND c.relkind IN ('r', 'p')
		                 AND c.relpersistence <> 't'),
		       coalesce(pg_catalog.to_regtype('halfvec')::oid, 0)
		FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`
	var (
		current, session              string
		super, bypass, powerful, owns bool
		halfvec                       uint32
	)
	err := conn.QueryRow(ctx, query, OwnerRole).Scan(&current, &session, &super, &bypass, &powerful, &owns, &halfvec)
	if err != nil {
		return err
	}
	switch {
	case super:
		return refusedRole("role %q is a superuser, which row-level security does not bind", current)
	case bypass:
		return refusedRole("role %q has BYPASSRLS, so row-level security does not bind it", current)
	case current == OwnerRole:
		return refusedRole("role %q owns the tables", current)
	case powerful:
		return refusedRole("role %q is a member of a role that owns the tables or that row-level security does not bind", current)
	case owns:
		return refusedRole("role %q owns tables", current)
	case current != AppRole || session != AppRole:
		return refusedRole("connected as role %q (session role %q)", current, session)
	}
	registerUUID(conn.TypeMap())
	if halfvec != 0 {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "halfvec", OID: halfvec, Codec: pgvector.HalfVectorCodec{}})
	}
	return nil
}

func refusedRole(format string, args ...any) error {
	return problem.New(problem.Forbidden, "STELE_DATABASE_URL", fmt.Sprintf(format, args...),
		"connect as "+AppRole+", the role that serves and owns nothing",
		"stele db migrate with the address of an administrator in STELE_DATABASE_ADMIN_URL creates the roles")
}

// unreachable turns a failure to get a connection into a problem that says what to do about it.
func unreachable(err error) error {
	if _, ok := problem.As(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	fix := "start the server, or check STELE_DATABASE_URL"
	switch SQLState(err) {
	case "28P01", "28000":
		fix = "check user, password and pg_hba.conf for STELE_DATABASE_URL"
	case "3D000":
		fix = "create the database, or check its name in STELE_DATABASE_URL"
	case "53300":
		fix = "raise max_connections of the server, or run fewer Stele processes"
	case "57P03":
		fix = "the server is starting or stopping: try again in a moment"
	}
	return problem.New(problem.Unavailable, "", "the database cannot be reached: "+reason(err), fix).Because(err)
}

// reason is the part of a connection error worth showing: the server's or the system's words, without the address and
// user that pgx puts before them.
func reason(err error) string {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pe.Message
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
