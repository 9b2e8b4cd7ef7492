package memory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// The provider was away while memories were written: they are found by words, recall says so, and a backfill gives them
// their vectors. What the model refuses is not waited for.
func TestBackfill(t *testing.T) {
	t.Parallel()
	p := &compass{off: true}
	w := newWorld(t, p)
	ctx := context.Background()
	north := w.remember(memory.RememberRequest{Content: "Grain is kept to the north."}).Memory
	w.remember(memory.RememberRequest{Content: "Barrels roll to the east."})
	w.remember(memory.RememberRequest{Content: "La cantina conserva barili antichi"})
	gone := w.remember(memory.RememberRequest{Content: "Wolves howl to the south."}).Memory
	_, err := w.Forget(ctx, w.c, memory.ForgetRequest{Memory: gone.Handle})
	w.must(err)

	_, err = w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	if err == nil {
		t.Error("nothing was said of a provider that is away")
	}
	p.off = false
	if got := w.recall(memory.RecallRequest{Query: "where to the north."}); got.Degraded == nil || got.Degraded.Unindexed != 3 {
		t.Errorf("before: degraded %+v", got.Degraded)
	}
	var told []memory.Backfilled
	done, err := w.Backfill(ctx, w.c.Org, time.Time{}, func(b memory.Backfilled) { told = append(told, b) })
	w.must(err)
	if done.Filled != 2 || done.Refused != 1 || done.Waiting != 0 || done.Model != "compass-1" {
		t.Errorf("backfilled %+v", done)
	}
	if len(told) < 2 || told[0].Waiting != 3 {
		t.Errorf("progress %+v", told)
	}
	got := w.recall(memory.RecallRequest{Query: "where to the north.", Explain: true})
	if got.Degraded != nil || len(got.Results) == 0 || got.Results[0].Handle != north.Handle || got.Results[0].Factors.Semantic < 0.99 {
		t.Errorf("after: %+v", got)
	}
	again, err := w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	if again.Filled+again.Refused != 0 {
		t.Errorf("a second time: %+v", again)
	}

	// What comes back into recall gets its vector again.
	_, err = w.Restore(ctx, w.c, gone.Handle)
	w.must(err)
	w.now = w.now.Add(time.Hour)
	none, err := w.Backfill(ctx, w.c.Org, time.Now().Add(time.Hour), nil)
	w.must(err)
	if none.Filled != 0 {
		t.Errorf("only what was written since was asked for: %+v", none)
	}
	back, err := w.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	if back.Filled != 1 {
		t.Errorf("after a restore: %+v", back)
	}
}

// A text that was refused when it was written waits for nothing.
func TestARefusedTextIsNotMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &compass{})
	w.remember(memory.RememberRequest{Content: "La cantina conserva barili antichi"})
	if got := w.recall(memory.RecallRequest{Query: "barili to the north."}); got.Degraded != nil {
		t.Errorf("degraded %+v", got.Degraded)
	}
}

// another is the compass under another name: a new model.
type another struct{ compass }

func (*another) Model() string { return "compass-2" }

// A change of model: until the vectors of the new one are there, recall goes by words; the old ones never take part.
func TestANewModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &compass{})
	ctx := context.Background()
	w.remember(memory.RememberRequest{Content: "Grain is kept to the north."})
	now := func() time.Time { return w.now }
	renewed := memory.New(w.h.store, memory.Options{Embedder: &another{}, Now: now})
	ask := memory.RecallRequest{Query: "grain to the north.", Explain: true}
	got, err := renewed.Recall(ctx, w.c, ask)
	w.must(err)
	if got.Degraded == nil || got.Degraded.Unindexed != 1 || got.Results[0].Factors.Semantic != 0 {
		t.Errorf("before: %+v, %+v", got.Degraded, got.Results[0].Factors)
	}
	done, err := renewed.Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	got, err = renewed.Recall(ctx, w.c, ask)
	w.must(err)
	if done.Filled != 1 || got.Degraded != nil || got.Results[0].Factors.Semantic < 0.99 {
		t.Errorf("after: %+v, %+v, %+v", done, got.Degraded, got.Results[0].Factors)
	}
	n, err := w.h.store.DropVectors(ctx, w.c.Org, "compass-2", 10)
	w.must(err)
	got, err = renewed.Recall(ctx, w.c, ask)
	w.must(err)
	if n != 1 || got.Degraded != nil {
		t.Errorf("%d old vectors were dropped, degraded %+v", n, got.Degraded)
	}
}

// Two workers and writers at once: every live memory ends with a vector of its text, no other has one.
func TestBackfillAmongWriters(t *testing.T) {
	t.Parallel()
	p := &compass{off: true}
	w := newWorld(t, p)
	ctx := context.Background()
	const n = 80
	handles := make([]string, n)
	for i := range handles {
		handles[i] = w.remember(memory.RememberRequest{Content: fmt.Sprintf("Barrel %d rolls to the east.", i), Separate: true}).Memory.Handle
	}
	working := &compass{}
	var all sync.WaitGroup
	for range 2 {
		s := memory.New(w.h.store, memory.Options{Embedder: working})
		all.Go(func() {
			if _, err := s.Backfill(ctx, w.c.Org, time.Time{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		for i, h := range handles {
			var err error
			if i%2 == 0 {
				_, err = w.Forget(ctx, w.c, memory.ForgetRequest{Memory: h})
			}
			if err != nil && !problem.Is(err, problem.Conflict) {
				t.Error(err)
			}
		}
	})
	all.Wait()
	last, err := memory.New(w.h.store, memory.Options{Embedder: working}).Backfill(ctx, w.c.Org, time.Time{}, nil)
	w.must(err)
	if last.Filled != 0 || last.Waiting != 0 {
		t.Errorf("left over: %+v", last)
	}
	var dead, live int
	conn := w.h.database.ConnectAdmin(t)
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE m.status <> 'live'), count(*) FILTER (WHERE m.status = 'live')
		FROM vectors v JOIN memories m USING (org_id, space_id, seq)`).Scan(&dead, &live)
	w.must(err)
	if dead != 0 || live != n/2 {
		t.Errorf("%d vectors of forgotten memories, %d of live ones", dead, live)
	}
}

// short answers with fewer vectors than it was asked for.
type short struct{ compass }

func (*short) Embed(context.Context, []string) ([]embedding.Vector, error) { return nil, nil }

// silent never answers in time.
type silent struct{ compass }

func (*silent) Embed(ctx context.Context, _ []string) ([]embedding.Vector, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestBackfillWithABrokenProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &compass{off: true})
	w.remember(memory.RememberRequest{Content: "Grain is kept to the north."})
	s := memory.New(w.h.store, memory.Options{Embedder: &short{}})
	if _, err := s.Backfill(context.Background(), w.c.Org, time.Time{}, nil); err == nil {
		t.Error("a short answer was taken")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	s = memory.New(w.h.store, memory.Options{Embedder: &silent{}})
	if _, err := s.Backfill(ctx, w.c.Org, time.Time{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a provider that never answers: %v", err)
	}
}
