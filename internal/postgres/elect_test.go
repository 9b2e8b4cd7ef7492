package postgres_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// Of two servers one works; when it stops, the other takes over at its next attempt.
func TestOneServerIsElected(t *testing.T) {
	t.Parallel()
	database := pgtest.NewDatabase(t)
	var working, most atomic.Int32
	elected := make(chan string, 4)
	stand := func(name string) (stop func()) {
		db, err := postgres.Open(t.Context(), postgres.Config{URL: database.App})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			db.Elect(ctx, postgres.Election{Every: 30 * time.Millisecond, ID: 7, Name: "test", Log: slog.New(slog.DiscardHandler),
				Work: func(ctx context.Context) error {
					most.Store(max(most.Load(), working.Add(1)))
					defer working.Add(-1)
					elected <- name
					<-ctx.Done()
					return nil
				}})
		})
		return func() {
			cancel()
			done.Wait()
			db.Close()
		}
	}
	stop := map[string]func(){"a": stand("a"), "b": stand("b")}
	first := <-elected
	stop[first]()
	delete(stop, first)
	second := <-elected
	if second == first {
		t.Errorf("%s was elected after it had stopped", second)
	}
	stop[second]()
	if most.Load() != 1 {
		t.Errorf("%d worked at once", most.Load())
	}
}

// A server whose connection is cut off is told to stop, and stands again.
func TestAnElectedServerThatLosesItsConnectionStops(t *testing.T) {
	t.Parallel()
	database := pgtest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: database.App})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began := make(chan struct{}, 2)
	ended := make(chan error, 2)
	var done sync.WaitGroup
	done.Go(func() {
		db.Elect(ctx, postgres.Election{Every: 30 * time.Millisecond, ID: 8, Name: "test", Log: slog.New(slog.DiscardHandler),
			Work: func(ctx context.Context) error {
				began <- struct{}{}
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return nil
			}})
	})
	<-began
	admin, err := pgx.Connect(t.Context(), database.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8`); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || ctx.Err() != nil {
		t.Errorf("the work ended with %v", err)
	}
	<-began // it is elected again
	cancel()
	done.Wait()
}
