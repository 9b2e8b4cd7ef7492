package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// electionLocks is the first key of the advisory locks of elections, so that they meet no other: "work" as a number.
const electionLocks int32 = 0x776f726b

const (
	defaultElection = 15 * time.Second
	holdTimeout     = 5 * time.Second
)

// Election is work that one of several servers does at a time.
type Election struct {
	ID   int32  // which work; the same on every server
	Name string // for the log
	// Work runs while this server is elected; its context ends when it no longer is. When Work returns the server stands
	// for election again.
	Work func(ctx context.Context) error
	Log  *slog.Logger
	// Every is how soon another server takes over from one that died; default 15 s. A third of it later at the most a
	// server that lost its connection, and with it the election, notices.
	Every time.Duration
}

// Elect stands for election until ctx is done, and returns when Work has ended. The winner holds a session's advisory
// lock, so a server that dies or loses the database is replaced without anybody's decision. A winner that lost its
// connection may go on for some seconds beside its successor: Work must be harmless when two do it.
func (db *DB) Elect(ctx context.Context, e Election) {
	if e.Every == 0 {
		e.Every = defaultElection
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := db.stand(ctx, e); err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "elected work failed", "work", e.Name, "error", err)
		}
		timer.Reset(e.Every)
	}
}

// stand tries once to win, and does the work when it does.
func (db *DB) stand(ctx context.Context, e Election) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var won bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, electionLocks, e.ID).Scan(&won); err != nil || !won {
		return err
	}
	e.Log.InfoContext(ctx, "elected", "work", e.Name)
	work, cancel := context.WithCancelCause(ctx)
	held := make(chan struct{})
	go func() {
		defer close(held)
		hold(work, cancel, conn, e.Every/3)
	}()
	err = e.Work(work)
	cancel(errDone)
	<-held
	if cause := context.Cause(work); !errors.Is(cause, errDone) && ctx.Err() == nil {
		err = errors.Join(err, cause)
	}
	unlock, done := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	defer done()
	if _, uerr := conn.Exec(unlock, `SELECT pg_advisory_unlock($1, $2)`, electionLocks, e.ID); uerr != nil {
		// The lock must not stay with a connection that goes back to the pool.
		_ = conn.Conn().Close(unlock)
	}
	return err
}

// errDone ends the watch over a connection when the work is done.
var errDone = errors.New("done")

// hold watches over the connection that holds the lock.
func hold(ctx context.Context, lost context.CancelCauseFunc, conn *pgxpool.Conn, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		ping, cancel := context.WithTimeout(ctx, holdTimeout)
		err := conn.Ping(ping)
		cancel()
		if err != nil && ctx.Err() == nil {
			lost(fmt.Errorf("the connection that holds the election is gone: %w", err))
			return
		}
	}
}
