package postgres

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// answerGrace is how much longer than its timeout a statement is waited for. The server ends it in time and says so; from
	// whom nothing comes after that, nothing will.
	answerGrace = 5 * time.Second
	// pongTimeout bounds the question whether a connection that was not used for a while is still one.
	pongTimeout = 2 * time.Second
)

// keepAlive finds out within half a minute that the other side is gone, while nothing is being sent.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// guarded is a connection whose answers come in time or not at all. A network that drops what it is given tells nobody, and
// what waits without a deadline of its own, such as a transaction that several callers share, would wait for hours.
type guarded struct {
	net.Conn
	limit   atomic.Int64 // nanoseconds that an answer may take; 0 = any time
	silence *time.Timer  // runs since something was sent or came, while there is a limit
	sent    atomic.Int64 // bytes that were taken to be sent
}

func guard(conn net.Conn) *guarded {
	g := &guarded{Conn: conn}
	g.silence = time.AfterFunc(math.MaxInt64, func() {
		if g.limit.Load() != 0 {
			_ = g.Close() // whoever reads is told
		}
	})
	return g
}

// dialGuarded makes the connections of the pool.
func dialGuarded(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return guard(conn), nil
}

// heard begins to wait anew.
func (g *guarded) heard() {
	if limit := time.Duration(g.limit.Load()); limit != 0 {
		g.silence.Reset(limit)
	}
}

// Read waits for the answer no longer than the limit; the connection is closed then. The driver reads ahead at times, beyond
// the end of a transaction: the limit is that of the transaction at hand, not of the one that began to read.
func (g *guarded) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.heard()
	return n, err
}

// Write sends, and counts what was taken.
func (g *guarded) Write(p []byte) (int, error) {
	g.heard()
	n, err := g.Conn.Write(p)
	g.sent.Add(int64(n))
	return n, err
}

// sentOn gives how many bytes a connection has taken to send; where it is the same as before, whoever is on the other side was told nothing.
// It is false where nobody counts.
func sentOn(conn *pgx.Conn) (bytes int64, known bool) {
	g := guardOf(conn)
	if g == nil {
		return 0, false
	}
	return g.sent.Load(), true
}

// guardOf gives the guard of a connection, below its encryption; nil where it has none.
func guardOf(conn *pgx.Conn) *guarded {
	inner := conn.PgConn().Conn()
	if tls, ok := inner.(interface{ NetConn() net.Conn }); ok {
		inner = tls.NetConn()
	}
	g, _ := inner.(*guarded)
	return g
}

// limitAnswers bounds how long a connection may hear nothing, until lift is called.
func limitAnswers(conn *pgx.Conn, limit time.Duration) (lift func()) {
	if g := guardOf(conn); g != nil {
		return g.bound(limit)
	}
	return func() {}
}

func (g *guarded) bound(limit time.Duration) (lift func()) {
	g.limit.Store(int64(limit))
	g.heard()
	return func() {
		g.limit.Store(0)
		g.silence.Stop()
	}
}
