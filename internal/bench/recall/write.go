package recall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/importer"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// Writes is how fast memories are stored, and how their vectors follow. What is counted are rows that are there when it is over,
// with the terms by which they are found.
type Writes struct {
	Memories    int         `json:"memories"` // there before
	Projects    int         `json:"projects"`
	Concurrency int         `json:"concurrency"`
	Provider    string      `json:"provider"` // model of the vectors; "" for words alone
	Durable     bool        `json:"durable"`  // a commit waits for the disk
	Remember    Written     `json:"remember"` // from callers side by side
	Calls       Kind        `json:"calls"`    // of Remember; PerS counts restatements, too
	Import      Written     `json:"import"`   // from one caller, as stele import does
	Vectors     Following   `json:"vectors"`
	Statements  []Statement `json:"statements"` // of Remember
}

// Written counts rows with their terms.
type Written struct {
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"`
	PerS    float64 `json:"per_s"`
	CPU     CPU     `json:"cpu"` // of a row
}

// Following is how vectors followed what was written. All is 0 without a model.
type Following struct {
	Late    int     `json:"late"`     // vectors that were made afterwards; the others came with their memory
	Seconds float64 `json:"seconds"`  // from the first write until the last vector was there
	PerS    float64 `json:"per_s"`    // Late in Seconds
	Waiting int     `json:"waiting"`  // most memories at a time that had none
	LagS    float64 `json:"lag_s"`    // from the last write until the last vector was there
	OldestS float64 `json:"oldest_s"` // the longest that a memory waited, as far as was seen
}

// lookEvery is how often it is looked how many memories wait for a vector.
const lookEvery = 250 * time.Millisecond

// Write has callers remember for a time, then imports memories, while vectors follow in the background as in a server. The mix of the
// bench must be of remember alone.
func (b *Bench) Write(ctx context.Context, d time.Duration, imported int) (*Writes, error) {
	out := &Writes{Memories: b.Memories, Projects: b.Projects, Concurrency: b.Concurrency, Provider: b.Embedder.Model()}
	if _, err := b.load(ctx, d/warmUp); err != nil {
		return nil, err
	}
	var err error
	if out.Durable, err = durable(ctx, b.DB); err != nil {
		return nil, err
	}
	following := b.follow(ctx)
	defer following.stop()
	b.Tracer.reset()
	var samples map[string][]sample
	if out.Remember, err = b.written(ctx, func() error {
		samples, err = b.load(ctx, d)
		return err
	}); err != nil {
		return nil, err
	}
	out.Calls = kind(samples["remember"], time.Duration(out.Remember.Seconds*float64(time.Second)))
	out.Statements = b.Tracer.top(statements)
	if imported > 0 {
		if out.Import, err = b.written(ctx, func() error { return b.importAll(ctx, imported) }); err != nil {
			return nil, err
		}
	}
	out.Vectors, err = following.end(ctx)
	return out, err
}

// durable tells whether the server answers a commit only once it is on disk.
func durable(ctx context.Context, db *postgres.DB) (yes bool, err error) {
	err = db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off' AND current_setting('full_page_writes') = 'on'`).Scan(&yes)
	})
	return yes, err
}

// written times work, and counts the rows that it left.
func (b *Bench) written(ctx context.Context, work func() error) (w Written, err error) {
	before, err := b.rows(ctx)
	if err != nil {
		return w, err
	}
	idle, err := look(ctx, b.DB)
	if err != nil {
		return w, err
	}
	began := time.Now()
	if err := work(); err != nil {
		return w, err
	}
	took := time.Since(began)
	busy, err := look(ctx, b.DB)
	if err != nil {
		return w, err
	}
	after, err := b.rows(ctx)
	w.Rows, w.Seconds = after-before, took.Seconds()
	w.PerS = float64(w.Rows) / w.Seconds
	process, backends, active := busy.since(idle)
	n := float64(max(w.Rows, 1))
	w.CPU = CPU{Process: ms(process) / n, Database: ms(backends) / n, Active: ms(active) / n}
	return w, err
}

// rows counts live memories with their terms.
func (b *Bench) rows(ctx context.Context) (n int, err error) {
	err = b.DB.InOrg(ctx, b.org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT count(*) FROM memories m JOIN memory_terms t ON t.org_id = m.org_id AND t.space_id = m.space_id AND t.seq = m.seq
			WHERE m.org_id = $1 AND m.status = 'live' AND cardinality(t.terms) = m.term_count`, b.org).Scan(&n)
	})
	return n, err
}

// importAll imports n records into the projects, as a file of another tool would be.
func (b *Bench) importAll(ctx context.Context, n int) error {
	b.rounds++
	w := newWords(b.Seed, uint64(b.rounds)<<33) //nolint:gosec // a count
	var targets []importer.Target
	for i, share := range sizes(n, b.Projects) {
		p := b.projects[i]
		t := importer.Target{Caller: p.caller, Name: fmt.Sprintf("project-%d", i)}
		for len(t.Records) < share {
			r := memory.ImportRecord{Key: fmt.Sprintf("bench:%d:%d:%d", b.rounds, i, len(t.Records)), Kind: memory.Note, Content: w.content(),
				CreatedAt: b.memory.Now().Add(-time.Duration(w.ExpFloat64() * float64(meanAge)))}
			if w.IntN(5) < 2 {
				r.Title = fmt.Sprintf("%s %s", w.text(4), r.Key)
			}
			for range w.skewed(4) {
				r.Tags = append(r.Tags, fmt.Sprintf("tag%d%d", len(r.Tags), w.skewed(50)))
			}
			if at := w.skewed(len(p.elements)); w.IntN(10) < 7 {
				r.Elements = append(r.Elements, p.elements[at].Key)
			}
			t.Records = append(t.Records, importer.Record{ImportRecord: r})
		}
		targets = append(targets, t)
	}
	report, err := importer.Run(ctx, b.memory, importer.Source{Name: "bench"}, targets, false, nil)
	if err == nil && report.Refused > 0 {
		err = fmt.Errorf("%d of %d records were refused", report.Refused, n)
	}
	return err
}

// following makes vectors in the background.
type following struct {
	*Bench
	began    time.Time
	cancel   context.CancelFunc
	watching context.CancelFunc
	all      sync.WaitGroup
	filled   chan error
	watched  chan error
	late     int
	seen     Following
}

// follow begins to make vectors of what is written from now on, and to look how many are waited for.
func (b *Bench) follow(ctx context.Context) *following {
	f := &following{Bench: b, began: time.Now(), filled: make(chan error, 1), watched: make(chan error, 1)}
	filling, cancel := context.WithCancel(ctx)
	watching, cancelWatch := context.WithCancel(ctx)
	f.cancel, f.watching = cancel, cancelWatch
	if b.Embedder.Model() == "" {
		f.filled, f.watched = nil, nil
		return f
	}
	f.all.Go(func() { f.watched <- f.watch(watching) })
	f.all.Go(func() {
		for {
			done, err := b.memory.Backfill(filling, b.org, f.began.Add(-time.Minute), nil)
			f.late += done.Filled
			if err != nil || pause(filling, lookEvery) != nil {
				f.filled <- err
				return
			}
		}
	})
	return f
}

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

// watch looks how many wait until none does and nobody writes.
func (f *following) watch(ctx context.Context) error {
	for {
		waiting, oldest, err := f.waiting(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // nobody looks any more
		case err != nil:
			return err
		}
		f.seen.Waiting = max(f.seen.Waiting, waiting)
		f.seen.OldestS = max(f.seen.OldestS, oldest.Seconds())
		if pause(ctx, lookEvery) != nil {
			return nil //nolint:nilerr // nobody looks any more
		}
	}
}

// waiting is how many memories have no vector, and the age of the oldest of them.
func (f *following) waiting(ctx context.Context) (n int, age time.Duration, err error) {
	err = f.Store.View(ctx, f.org, func(v memory.View) error {
		ids, err := v.Waiting(ctx, f.Embedder.Model(), uuid.Nil, 1)
		if err != nil || len(ids) == 0 {
			return err
		}
		age = time.Since(time.Unix(ids[0].Time().UnixTime()))
		n, err = v.CountWaiting(ctx, f.Embedder.Model(), uuid.Nil)
		return err
	})
	return n, age, err
}

// end waits until every memory has its vector.
func (f *following) end(ctx context.Context) (Following, error) {
	defer f.stop()
	if f.filled == nil {
		return Following{}, nil
	}
	last := time.Now()
	f.watching()
	if err := <-f.watched; err != nil {
		return Following{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		n, oldest, err := f.waiting(ctx)
		if err != nil {
			return Following{}, err
		}
		f.seen.Waiting, f.seen.OldestS = max(f.seen.Waiting, n), max(f.seen.OldestS, oldest.Seconds())
		if n == 0 {
			break
		}
		select {
		case err := <-f.filled:
			return Following{}, fmt.Errorf("vectors do not follow: %w", err)
		case <-time.After(lookEvery):
		}
	}
	out := f.seen
	out.LagS, out.Seconds = time.Since(last).Seconds(), time.Since(f.began).Seconds()
	f.cancel()
	if err := <-f.filled; err != nil && !errors.Is(err, context.Canceled) { // it was told to stop
		return Following{}, err
	}
	out.Late = f.late
	out.PerS = float64(out.Late) / out.Seconds
	return out, nil
}

// stop ends what runs in the background.
func (f *following) stop() {
	f.cancel()
	f.watching()
	f.all.Wait()
}

// WriteText writes lines.
func (w *Writes) WriteText(out io.Writer) error {
	var b strings.Builder
	by := "found by words alone"
	if w.Provider != "" {
		by = "vectors of " + w.Provider
	}
	fmt.Fprintf(&b, "%d memories of %d projects were there; %s\n", w.Memories, w.Projects, by)
	if !w.Durable {
		b.WriteString("this database does not wait for its disk: the numbers are not those of a server\n")
	}
	fmt.Fprintf(&b, "\n%-9s %8s %9s %9s\n", "", "rows", "seconds", "rows/s")
	row := func(name string, of Written) {
		if of.Rows > 0 {
			fmt.Fprintf(&b, "%-9s %8d %9.1f %9.1f %9.2f %9.2f\n", name, of.Rows, of.Seconds, of.PerS, of.CPU.Process, of.CPU.Database)
		}
	}
	row("remember", w.Remember)
	row("import", w.Import)
	if w.Provider != "" {
		fmt.Fprintf(&b, "%-9s %8d %9.1f %9.1f  made afterwards\n", "vectors", w.Vectors.Late, w.Vectors.Seconds, w.Vectors.PerS)
		fmt.Fprintf(&b, "          the last %.1f s after the last write\n          at most %d waited, the oldest %.1f s\n", w.Vectors.LagS, w.Vectors.Waiting, w.Vectors.OldestS)
	}
	c := w.Calls
	fmt.Fprintf(&b, "\na remember of %d callers: p50 %.1f ms, p95 %.1f ms, p99 %.1f ms\n", w.Concurrency, c.P50, c.P95, c.P99)
	fmt.Fprintf(&b, "%.1f round trips each, %d failed\n", c.Trips, c.Failed)
	b.WriteString("here and db: time of a processor for a row, in this process and the database\n")
	b.WriteString("\nwhere the time of the database went\n")
	for _, s := range w.Statements {
		fmt.Fprintf(&b, "%4.0f %% %7d × %7.2f ms  %s\n", s.Share*100, s.Count, s.MS/float64(max(s.Count, 1)), cut(s.Text, 50))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
