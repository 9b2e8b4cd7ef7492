package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// trips counts what waits for an answer of the database.
type trips struct{ atomic.Int64 }

func (n *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	n.Add(1)
	return ctx
}
func (n *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (n *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	n.Add(1)
	return ctx
}
func (n *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (n *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// A recall from memory waits for the database five times: keys, spaces and changes; texts; links; the end; and for what was shown.
func TestTripsOfARecall(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var n trips
	d := pgtest.NewDatabase(t, func(cfg *postgres.Config) { cfg.MaxConns, cfg.Tracer = 1, &n }) // a second connection prepares anew
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	own := store.New(d.DB, master, store.IndexMemory(1<<20))
	s := domain{memory.New(own, memory.Options{}), own, d.DB}
	c := filled(t, s, "shop")
	c.Session = "client"
	indexes, stop := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		own.KeepIndexes(indexes, func(err error) { t.Error(err) })
	}()
	defer func() { stop(); <-kept }()
	recall := func() int64 {
		t.Helper()
		before := n.Load()
		r, err := s.Recall(ctx, c, memory.RecallRequest{Query: "when are the scales checked"})
		if err != nil || len(r.Results) == 0 {
			t.Fatal(fmt.Errorf("%d results: %w", len(r.Results), err))
		}
		return n.Load() - before
	}
	for until := time.Now().Add(time.Minute); own.IndexStats().Hits < 2; recall() {
		if time.Now().After(until) {
			t.Fatal("no space is held in memory")
		}
	}
	if got := recall(); got != 5 {
		t.Errorf("%d round trips, want 5", got)
	}
}

// A remember waits for the database five times: its space with all that a write asks, what it names, what is near, the rows, and the end.
func TestTripsOfARemember(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var n trips
	d := pgtest.NewDatabase(t, func(cfg *postgres.Config) { cfg.MaxConns, cfg.Tracer = 1, &n })
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	own := store.New(d.DB, master)
	s := domain{memory.New(own, memory.Options{}), own, d.DB}
	c := filled(t, s, "shop")
	remember := func(r memory.RememberRequest) int64 {
		t.Helper()
		before := n.Load()
		if _, err := s.Remember(ctx, c, r); err != nil {
			t.Fatal(err)
		}
		return n.Load() - before
	}
	remember(memory.RememberRequest{Content: "Candles stand in the second drawer from above.", Paths: []string{"drawers/**"}}) // statements are prepared
	for _, r := range []memory.RememberRequest{
		{Content: "Matches lie behind the blue curtain near the door.", Paths: []string{"door/**"}},
		{Content: "A bell rings whenever somebody opens the gate.", Elements: []string{"shop"}},
	} {
		if got := remember(r); got != 5 {
			t.Errorf("%q: %d round trips, want 5", r.Content, got)
		}
	}
}
