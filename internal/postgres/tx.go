package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stele-dev/stele/internal/problem"
)

// TxOptions say how a transaction runs. The zero value: read and write, READ COMMITTED, the pool's statement timeout.
type TxOptions struct {
	ReadOnly         bool
	Isolation        pgx.TxIsoLevel // empty: READ COMMITTED
	StatementTimeout time.Duration  // of each statement; 0: Config.StatementTimeout
}

const (
	maxAttempts     = 6                    // a transaction that lost five times in a row is reported
	firstBackoff    = 5 * time.Millisecond // doubled each time, with jitter: 5, 10, 20, 40, 80 ms on average
	restartPatience = 10 * time.Second     // a server is up again after a crash within moments, unless there is much to recover
	rollbackTimeout = 5 * time.Second      // a rollback slower than this means the connection is lost
)

// InOrg runs fn in a transaction that sees and writes only what belongs to the organization. It and Batch are the only ways to a
// tenant's rows: row-level security shows none to a transaction that names no organization. The transaction begins with the first
// thing that fn asks.
//
// The transaction commits when fn returns nil and is rolled back when fn returns an error or panics, also when ctx is
// done by then. When it lost against a concurrent one (Retryable), or its connection before it was to commit, fn is run
// again in a new transaction, at most five times: fn must not leave anything behind outside the transaction.
func (db *DB) InOrg(ctx context.Context, orgID uuid.UUID, opts TxOptions, fn func(pgx.Tx) error) error {
	if orgID == uuid.Nil {
		return errors.New("postgres: InOrg without an organization")
	}
	return db.run(ctx, orgID, opts, func(t *opening) error { return fn(t) })
}

// WithoutOrg is InOrg without an organization: every table of a tenant looks empty. It is for the lookup functions that
// find the organization (by name, by token).
func (db *DB) WithoutOrg(ctx context.Context, opts TxOptions, fn func(pgx.Tx) error) error {
	return db.run(ctx, uuid.Nil, opts, func(t *opening) error { return fn(t) })
}

// Batch runs the statements that fill queues in a transaction of its own, as InOrg does, all in one round trip. fill may be run
// again and leaves nothing behind outside the batch.
func (db *DB) Batch(ctx context.Context, orgID uuid.UUID, opts TxOptions, fill func(*pgx.Batch)) error {
	if orgID == uuid.Nil {
		return errors.New("postgres: Batch without an organization")
	}
	return db.run(ctx, orgID, opts, func(t *opening) error {
		b := &pgx.Batch{}
		fill(b)
		return t.whole(ctx, b)
	})
}

func (db *DB) run(ctx context.Context, orgID uuid.UUID, opts TxOptions, fn func(*opening) error) error {
	if opts.StatementTimeout <= 0 {
		opts.StatementTimeout = db.timeout
	}
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		err := db.once(ctx, orgID, opts, fn)
		lost := errors.Is(err, errLost) || opts.ReadOnly && errors.Is(err, errLostCommit)
		if err == nil || ctx.Err() != nil || !lost && !Retryable(err) || lost && attempt == maxAttempts {
			return explain(ctx, err)
		}
		if attempt == maxAttempts {
			return problem.New(problem.Conflict, "", fmt.Sprintf("others kept changing the same rows, %d attempts lost", attempt),
				"try again").Because(err)
		}
		// Full jitter: those that met once would otherwise meet again.
		if err := pause(ctx, time.Duration(rand.Int64N(int64(2*backoff)))); err != nil { //nolint:gosec // jitter is no secret
			return err
		}
		backoff *= 2
	}
}

var (
	// errLost says that the connection ended before the transaction was to commit: nothing of it happened.
	errLost = errors.New("the connection to the database was lost")
	// errLostCommit says that the connection ended during the commit: nobody knows whether it happened.
	errLostCommit = errors.New("the connection to the database was lost during the commit")
)

// once runs one attempt, in which nothing is waited for much longer than a statement may take.
func (db *DB) once(ctx context.Context, orgID uuid.UUID, opts TxOptions, fn func(*opening) error) (err error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer limitAnswers(conn.Conn(), max(opts.StatementTimeout, db.silence)+answerGrace)()
	// A connection that was closed for any other reason than the caller's giving up was lost. What the domain says about
	// its own matters stands.
	lost := func(err, how error) error {
		if _, ok := problem.As(err); ok || err == nil || ctx.Err() != nil || !conn.Conn().IsClosed() || errors.Is(err, errLostCommit) {
			return err
		}
		return fmt.Errorf("%w: %w", how, err)
	}
	tx := db.opening(conn.Conn(), orgID, opts)
	committed := false
	defer func() {
		if committed {
			return
		}
		// The caller's context may be what ended the work; the transaction has to end all the same.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		if rerr := tx.Rollback(ctx); rerr != nil && !errors.Is(rerr, pgx.ErrTxClosed) && err == nil {
			err = rerr
		}
	}()
	if err := fn(tx); err != nil {
		return lost(err, errLost)
	}
	before, known := sentOn(conn.Conn())
	if err := tx.Commit(ctx); err != nil {
		after, _ := sentOn(conn.Conn())
		if SQLState(err) == "25P03" || known && after == before { // it was ended, for its silence for one, before the server heard of a commit
			return lost(err, errLost)
		}
		return lost(fmt.Errorf("commit: %w", err), errLostCommit)
	}
	committed = true
	return nil
}

// acquire gets a connection. Nothing of the transaction has happened yet, so a server that is just starting, or that died
// under the attempt and is started again (Config.BeforeConnect), is waited for.
func (db *DB) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	for deadline := time.Now().Add(restartPatience); ; {
		conn, err := db.pool.Acquire(ctx)
		if err == nil {
			return conn, nil
		}
		if !db.comingUp(err) || time.Now().After(deadline) {
			return nil, unreachable(err)
		}
		if err := pause(ctx, startingPause); err != nil {
			return nil, err
		}
	}
}

// startingPause is how long a server that is just starting is left alone between two attempts.
const startingPause = 20 * time.Millisecond

// pause waits, unless ctx is done before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// comingUp tells whether the next attempt to connect may succeed.
func (db *DB) comingUp(err error) bool {
	switch SQLState(err) {
	case "57P03", "57P01":
		return true
	case "":
		return db.restarts && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) ||
			errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF))
	}
	return false
}

// explain gives the context's error for work that the caller gave up, and a problem for a statement that took too long.
// Everything else is the caller's to judge.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := problem.As(err); ok {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	if errors.Is(err, errLost) {
		return problem.New(problem.Unavailable, "", "the connection to the database was lost, and nothing was stored", "try again in a moment").Because(err)
	}
	if errors.Is(err, errLostCommit) {
		return problem.New(problem.Unavailable, "", "the connection to the database was lost, and whether this was stored is not known",
			"try again; under one Idempotency-Key it is stored once").Because(err)
	}
	switch SQLState(err) {
	case "57014":
		return problem.New(problem.Unavailable, "", "the database took too long to answer", "ask for less, or try again").Because(err)
	case "22021", "22P05":
		return problem.New(problem.Invalid, "", "a text holds a character the database cannot keep (NUL, or no valid UTF-8)", "take it out").Because(err)
	case "54000":
		return problem.New(problem.Invalid, "", "a key, name or path is too long to be looked up", "shorten it").Because(err)
	case "57P01", "57P02", "57P03":
		return problem.New(problem.Unavailable, "", "the database server is stopping or starting", "try again in a moment").Because(err)
	case "53100":
		return problem.New(problem.Unavailable, "", "the database server's disk is full", "make room, then try again").Because(err)
	}
	return err
}
