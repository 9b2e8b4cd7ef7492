package postgres

import (
	"context"
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
	limit atomic.Int64 // nanoseconds that an answer may take; 0 = any time
	sent  atomic.Int64 // bytes that were taken to be sent
}

// dialGuarded makes the connections of the pool.
func dialGuarded(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{KeepAliveConfig: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &guarded{Conn: conn}, nil
}

// Read waits for the answer no longer than the limit; the connection is closed then.
func (g *guarded) Read(p []byte) (int, error) {
	limit := time.Duration(g.limit.Load())
	if limit == 0 {
		return g.Conn.Read(p)
	}
	timer := time.AfterFunc(limit, func() { _ = g.Close() }) // whoever reads is told
	defer timer.Stop()
	return g.Conn.Read(p)
}

// Write sends, and counts what was taken.
func (g *guarded) Write(p []byte) (int, error) {
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

// limitAnswers bounds how long the answers of a connection may take, until lift is called.
func limitAnswers(conn *pgx.Conn, limit time.Duration) (lift func()) {
	g := guardOf(conn)
	if g == nil {
		return func() {}
	}
	g.limit.Store(int64(limit))
	return func() { g.limit.Store(0) }
}
