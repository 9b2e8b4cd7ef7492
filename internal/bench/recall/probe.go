package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/embedding"
)

// tally is what one operation took of others: its round trips to the database with the time of waiting for it, and the encoder.
type tally struct {
	mu       sync.Mutex
	trips    int
	database time.Duration
	encoder  time.Duration
}

type tallyKey struct{}

// counted gives a context under which an operation is tallied.
func counted(ctx context.Context) (context.Context, *tally) {
	t := &tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

func (t *tally) add(trips int, database, encoder time.Duration) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trips, t.database, t.encoder = t.trips+trips, t.database+database, t.encoder+encoder
}

func tallyOf(ctx context.Context) *tally {
	t, _ := ctx.Value(tallyKey{}).(*tally)
	return t
}

// Tracer counts round trips and times statements. It is safe for concurrent use; its zero value is ready.
type Tracer struct {
	mu         sync.Mutex
	statements map[string]*spent
}

// spent is what a statement took, from sending it to its last row.
type spent struct {
	count int
	took  time.Duration
}

var (
	_ pgx.QueryTracer = (*Tracer)(nil)
	_ pgx.BatchTracer = (*Tracer)(nil)
)

// sent is a statement or batch under way.
type sent struct {
	sql   string
	began time.Time
	last  time.Time // end of the statement before, of a batch
}

type sentKey struct{}

// TraceQueryStart begins a statement, which is a round trip.
func (t *Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, sentKey{}, &sent{sql: data.SQL, began: time.Now()})
}

// TraceQueryEnd ends it.
func (t *Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		took := time.Since(s.began)
		t.note(s.sql, took)
		tallyOf(ctx).add(1, took, 0)
	}
}

// TraceBatchStart begins a batch, which is one round trip.
func (t *Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	now := time.Now()
	return context.WithValue(ctx, sentKey{}, &sent{began: now, last: now})
}

// TraceBatchQuery ends a statement of a batch: its time is that since the one before.
func (t *Tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		now := time.Now()
		t.note(data.SQL, now.Sub(s.last))
		s.last = now
	}
}

// TraceBatchEnd ends a batch.
func (t *Tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		tallyOf(ctx).add(1, time.Since(s.began), 0)
	}
}

func (t *Tracer) note(sql string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.statements == nil {
		t.statements = map[string]*spent{}
	}
	s := t.statements[sql]
	if s == nil {
		s = &spent{}
		t.statements[sql] = s
	}
	s.count, s.took = s.count+1, s.took+took
}

// reset forgets what was counted.
func (t *Tracer) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.statements)
}

// Statement is what one statement took over a run.
type Statement struct {
	Text  string  `json:"text"`  // in one line, its beginning
	Count int     `json:"count"` // times it ran
	MS    float64 `json:"ms"`    // together, from sending it to its last row
	Share float64 `json:"share"` // of the time of all statements
}

// statementBytes is how much of a statement is shown.
const statementBytes = 160

// top gives the statements that took longest together.
func (t *Tracer) top(n int) []Statement {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := time.Duration(0)
	out := []Statement{}
	byText := map[string]int{}
	for sql, s := range t.statements {
		all += s.took
		text := strings.Join(strings.Fields(sql), " ")
		if strings.HasPrefix(text, "BEGIN") {
			text = "BEGIN" // the rest names the organization
		}
		text = text[:min(len(text), statementBytes)]
		i, known := byText[text]
		if !known {
			i = len(out)
			byText[text] = i
			out = append(out, Statement{Text: text})
		}
		out[i].Count += s.count
		out[i].MS += ms(s.took)
	}
	for i := range out {
		out[i].Share = out[i].MS / max(ms(all), 1e-9)
	}
	slices.SortFunc(out, func(a, b Statement) int { return cmp.Or(cmp.Compare(b.MS, a.MS), cmp.Compare(a.Text, b.Text)) })
	return out[:min(n, len(out))]
}

// timed is a provider whose time is tallied apart.
type timed struct{ embedding.Provider }

// Embed embeds.
func (p timed) Embed(ctx context.Context, texts []string) ([]embedding.Vector, error) {
	defer p.since(ctx, time.Now())
	return p.Provider.Embed(ctx, texts)
}

// EmbedQuery embeds a question, in the way of the provider where it has one.
func (p timed) EmbedQuery(ctx context.Context, text string) (embedding.Vector, error) {
	defer p.since(ctx, time.Now())
	if q, ok := p.Provider.(interface {
		EmbedQuery(ctx context.Context, text string) (embedding.Vector, error)
	}); ok {
		return q.EmbedQuery(ctx, text)
	}
	vectors, err := p.Provider.Embed(ctx, []string{text})
	if err != nil || len(vectors) == 0 {
		return nil, err
	}
	return vectors[0], nil
}

// AtOnce is that of the provider; where it has none, more than a bench ever asks.
func (p timed) AtOnce() int {
	if own, ok := p.Provider.(interface{ AtOnce() int }); ok {
		return own.AtOnce()
	}
	return math.MaxInt16
}

func (p timed) since(ctx context.Context, began time.Time) { tallyOf(ctx).add(0, 0, time.Since(began)) }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
