package postgres

import (
	"context"
	"fmt"
	"time"
)

// Condition is how the database and its server are, as the service sees them.
type Condition struct {
	Server     string    // version of PostgreSQL, as it calls itself
	Number     int       // the same to compare: 150004 is 15.4
	Vector     string    // version of pgvector as created in the database; "" for none
	Role       string    // that this process is connected as
	Bytes      int64     // of the database on disk
	Now        time.Time // by the clock of the server, when it answered
	Asked      time.Time // by the clock of this machine, in the middle between question and answer
	RoundTrip  time.Duration
	Recovering bool // a standby, which takes no writes
}

// Condition asks the server how it is.
func (db *DB) Condition(ctx context.Context) (Condition, error) {
	var c Condition
	conn, err := db.acquire(ctx)
	if err != nil {
		return c, err
	}
	defer conn.Release()
	// The clock first and by itself: sizes take a while.
	began := time.Now()
	if err := conn.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&c.Now); err != nil {
		return c, fmt.Errorf("asking the database for the time: %w", err)
	}
	c.RoundTrip = time.Since(began)
	c.Asked = began.Add(c.RoundTrip / 2)
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_user, pg_is_in_recovery(),
		coalesce((SELECT extversion FROM pg_extension WHERE extname = 'vector'), ''), pg_database_size(current_database())`).
		Scan(&c.Server, &c.Number, &c.Role, &c.Recovering, &c.Vector, &c.Bytes)
	if err != nil {
		return c, fmt.Errorf("asking the database how it is: %w", err)
	}
	return c, nil
}
