// Package measure runs a retrieval set through the product: its memories are remembered, its questions asked, by the
// very calls that people and agents make, on a database of its own.
package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/retrieval"
	"github.com/stele-dev/stele/memory"
)

// Options of a run.
type Options struct {
	Store    memory.Store
	Embedder embedding.Provider // default embedding.None
	Ranking  *memory.Ranking    // default memory.DefaultRanking()
	// Progress is told how many of the memories and questions are done; may be nil.
	Progress func(done, total int)
}

// Result is what a run came to.
type Result struct {
	*retrieval.Report
	Memories int      `json:"memories"`
	Vectors  int      `json:"vectors"` // memories with one
	Latency  Latency  `json:"latency_ms"`
	Runs     []Run    `json:"-"`
	Warnings []string `json:"warnings"`
}

// Latency of recall as its caller sees it, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Run is one question with what came back and why.
type Run struct {
	retrieval.Run
	Results []memory.Result
}

// clock tells the time of the set: the day a memory was written, then the day on which ages are counted.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// runner is one run over one set.
type runner struct {
	Options
	set     *retrieval.Set
	service *memory.Service
	clock   *clock
	org     uuid.UUID
	callers map[string]memory.Caller // by project
	handles map[string]string        // handle → id in the set
	total   int
	done    int
}

// Do remembers the memories of a set, each on its day, and asks its questions as of the day the set names.
func Do(ctx context.Context, set *retrieval.Set, o Options) (*Result, error) {
	r := &runner{Options: o, set: set, clock: &clock{}, callers: map[string]memory.Caller{}, handles: map[string]string{}, total: len(set.Memories) + len(set.Queries)}
	if r.Embedder == nil {
		r.Embedder = embedding.None{}
	}
	r.service = memory.New(o.Store, memory.Options{Embedder: r.Embedder, Ranking: o.Ranking, Now: r.clock.read})
	r.clock.set(time.Unix(0, 0))
	var err error
	if r.org, err = r.service.EnsureOrganization(ctx, "retrieval"); err != nil {
		return nil, err
	}
	out := &Result{Memories: len(set.Memories), Warnings: []string{}}
	for _, p := range set.Projects {
		if err := r.project(ctx, p); err != nil {
			return nil, fmt.Errorf("project %s: %w", p.ID, err)
		}
	}
	if err := r.remember(ctx); err != nil {
		return nil, err
	}
	// Under load a vector may have missed its budget.
	filled, err := r.service.Backfill(ctx, r.org, time.Time{}, nil)
	if err != nil {
		return nil, err
	}
	if filled.Model != "" {
		out.Vectors = len(set.Memories) - filled.Refused - filled.Waiting
	}
	if err := r.ask(ctx, out); err != nil {
		return nil, err
	}
	return out, nil
}

// project makes a project with its model.
func (r *runner) project(ctx context.Context, p retrieval.Project) error {
	c := memory.Caller{Org: r.org, User: "author", Role: memory.RoleAdmin, Door: memory.FromCLI}
	made, err := r.service.CreateProject(ctx, c, p.ID, nil)
	if err != nil {
		return err
	}
	c.Project = made.ID
	r.callers[p.ID] = c
	var im memory.ModelImport
	im.Model = &c4model.Model{Name: p.Name}
	im.Source = p.ID
	for _, e := range r.set.Elements {
		if e.Project != p.ID {
			continue
		}
		parent := ""
		if i := strings.LastIndexByte(e.Key, '.'); i >= 0 {
			parent = e.Key[:i]
		}
		im.Model.Elements = append(im.Model.Elements, c4model.Element{Key: e.Key, Name: e.Name, Level: c4model.Level(e.Kind),
			Description: e.Description, Technology: e.Technology, Parent: parent})
		for _, path := range e.Paths {
			im.Bindings = append(im.Bindings, c4model.Binding{Element: e.Key, Pattern: path, Source: "model"})
		}
	}
	if len(im.Model.Elements) == 0 {
		return nil
	}
	_, err = r.service.ImportModel(ctx, c, im)
	return err
}

// remember writes every memory on its day, confirms it on the day it was last confirmed and disputes what is disputed.
func (r *runner) remember(ctx context.Context) error {
	ms := slices.Clone(r.set.Memories)
	slices.SortStableFunc(ms, func(a, b retrieval.Memory) int { return a.Created.Compare(b.Created.Time) })
	for _, m := range ms {
		c := r.callers[m.Project]
		r.clock.set(day(m.Created.Time))
		request := memory.RememberRequest{Kind: memory.Kind(m.Kind), Title: m.Title, Content: m.Content, Why: m.Why, Elements: m.Elements, Paths: m.Paths,
			Tags: m.Tags, Separate: true}
		if request.Kind == memory.SessionOutcome {
			c.Door = memory.FromSession // finishing a session writes them
		}
		out, err := r.service.Remember(ctx, c, request)
		if err != nil {
			return fmt.Errorf("memory %s: %w", m.ID, err)
		}
		r.handles[out.Memory.Handle] = m.ID
		if m.Confirmed.After(m.Created.Time) {
			r.clock.set(day(m.Confirmed.Time))
			if _, err := r.service.Confirm(ctx, r.callers[m.Project], memory.ConfirmRequest{Memory: out.Memory.Handle, Holds: true}); err != nil {
				return fmt.Errorf("memory %s: %w", m.ID, err)
			}
		}
		if m.Disputed {
			if _, err := r.service.Confirm(ctx, r.callers[m.Project], memory.ConfirmRequest{Memory: out.Memory.Handle, Note: "found otherwise"}); err != nil {
				return fmt.Errorf("memory %s: %w", m.ID, err)
			}
		}
		r.step()
	}
	return nil
}

// day is a day as a moment; a set without days is of one moment.
func day(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t
}

// ask puts the questions, each in its project, with room for ten whole results.
func (r *runner) ask(ctx context.Context, out *Result) error {
	asOf := map[string]time.Time{}
	for _, p := range r.set.Projects {
		asOf[p.ID] = day(p.AsOf.Time)
	}
	const wanted, room = 10, 50_000
	tokens := room
	took := make([]time.Duration, 0, len(r.set.Queries))
	runs := make([]retrieval.Run, 0, len(r.set.Queries))
	for n := range r.set.Queries {
		q := &r.set.Queries[n]
		r.clock.set(asOf[q.Project])
		began := time.Now()
		got, err := r.service.Recall(ctx, r.callers[q.Project], memory.RecallRequest{Query: q.Text, Paths: q.Paths, Limit: wanted, MaxTokens: &tokens, Explain: true})
		if err != nil {
			return fmt.Errorf("question %s: %w", q.ID, err)
		}
		took = append(took, time.Since(began))
		run := retrieval.Run{Query: q, Got: []string{}}
		for _, result := range got.Results {
			// A decision is not among the memories of the set.
			if id := r.handles[result.Handle]; id != "" {
				run.Got = append(run.Got, id)
			}
		}
		runs = append(runs, run)
		out.Runs = append(out.Runs, Run{run, got.Results})
		r.step()
	}
	out.Report = retrieval.Score(runs)
	slices.Sort(took)
	if len(took) > 0 {
		out.Latency = Latency{P50: ms(took[len(took)/2]), P95: ms(took[len(took)*95/100])}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (r *runner) step() {
	if r.done++; r.Progress != nil {
		r.Progress(r.done, r.total)
	}
}
