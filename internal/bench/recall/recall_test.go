package recall

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/embedding/embedtest"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

func newBench(t *testing.T, o Options) *Bench {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	o.Tracer = &Tracer{}
	d := pgtest.NewDatabase(t, func(c *postgres.Config) { c.Tracer = o.Tracer })
	o.DB, o.OwnerURL, o.Store = d.DB, d.Owner, store.New(d.DB, master)
	if o.Embedder == nil {
		o.Embedder = embedding.None{}
	}
	b, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stored gives what tables hold of the memories of a space, each as JSON without what is drawn, sealed or numbered anew.
const stored = `
	SELECT jsonb_build_object(
		'memory', to_jsonb(m) - ARRAY['memory_id', 'handle', 'space_id', 'project_id'],
		'versions', (SELECT jsonb_agg(to_jsonb(v) - ARRAY['memory_id', 'body'] ORDER BY revision) FROM memory_versions v WHERE v.memory_id = m.memory_id),
		'elements', (SELECT jsonb_agg((to_jsonb(a) - ARRAY['memory_id', 'element_id']) || jsonb_build_object('key', e.key) ORDER BY e.key)
			FROM attachments a JOIN elements e ON e.element_id = a.element_id WHERE a.memory_id = m.memory_id),
		'paths', (SELECT jsonb_agg(to_jsonb(p) - ARRAY['memory_id', 'project_id'] || jsonb_build_object('here', p.project_id = m.project_id) ORDER BY ordinal)
			FROM memory_paths p WHERE p.memory_id = m.memory_id),
		'links', (SELECT jsonb_agg(to_jsonb(l) - ARRAY['memory_id', 'target'] ORDER BY ordinal) FROM links l WHERE l.memory_id = m.memory_id),
		'postings', (SELECT jsonb_agg(p.term ORDER BY p.term) FROM posting_blocks p WHERE p.org_id = m.org_id AND p.space_id = m.space_id AND m.seq = ANY (p.seqs)),
		'terms', (SELECT to_jsonb(x) - 'space_id' FROM memory_terms x WHERE x.org_id = m.org_id AND x.space_id = m.space_id AND x.seq = m.seq),
		'citations', (SELECT jsonb_agg(to_jsonb(c) - 'memory_id' ORDER BY c.session_id) FROM citations c WHERE c.memory_id = m.memory_id),
		'vectors', (SELECT jsonb_agg(to_jsonb(x) - 'space_id') FROM vectors x WHERE x.org_id = m.org_id AND x.space_id = m.space_id AND x.seq = m.seq),
		'audit', (SELECT jsonb_agg(to_jsonb(a) - ARRAY['audit_id', 'at', 'subject_id', 'project_id', 'space_id'] || jsonb_build_object('late', a.at = m.created_at) ORDER BY event)
			FROM audit a WHERE a.subject_id = m.memory_id AND a.verb = 'remember'))::text
	FROM memories m WHERE m.space_id = $1 ORDER BY m.seq`

// What Load leaves behind is what remembering the same memories one by one leaves behind, in every table.
func TestLoadedIsAsRemembered(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	d := pgtest.NewDatabase(t)
	s := store.New(d.DB, master)
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	encoder := &embedtest.Provider{}
	m := memory.New(s, memory.Options{Embedder: encoder, EmbedWait: time.Minute, Now: func() time.Time { return now }})
	org, err := m.EnsureOrganization(ctx, "bench")
	if err != nil {
		t.Fatal(err)
	}
	var callers [2]memory.Caller
	var spaces [2]int32
	var elements [2][]memory.Element
	for i, name := range []string{"remembered", "loaded"} {
		c := memory.Caller{Org: org, User: "writer", Agent: "bench", Role: memory.RoleAdmin, Door: memory.FromMCP}
		p, err := m.CreateProject(ctx, c, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Project = p.ID
		if _, err := m.ImportModel(ctx, c, model(100)); err != nil {
			t.Fatal(err)
		}
		callers[i] = c
		if err := s.View(ctx, org, func(v memory.View) error {
			elements[i], err = v.Elements(ctx, c.Project, false)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	key := func(i int) memory.SpaceKey {
		return memory.SpaceKey{Scope: memory.Project, Owner: callers[i].Project.String()}
	}

	const n = 40
	last := now
	remembered, loaded := newWords(3, 0), newWords(3, 0)
	all := make([]store.Loaded, n)
	kinds := map[string]int{}
	for i := range n {
		drawn := remembered.draw(uint64(i), callers[0], memory.Project, elements[0], last)
		all[i] = loaded.draw(uint64(i)+n, callers[1], memory.Project, elements[1], last)
		if drawn.Title != "" { // it holds the number
			all[i].Title = drawn.Title
		}
		drawn.Content += " see [[" + all[i].Handle + "]]"
		all[i].Content = drawn.Content
		for _, l := range []*store.Loaded{&drawn, &all[i]} {
			l.CitedBy, l.IgnoredBy, l.Unreviewed = nil, 0, false // of later
			if l.Kind == memory.SessionOutcome {
				l.Kind = memory.Note // of sessions
			}
		}
		r := memory.RememberRequest{Kind: drawn.Kind, Title: drawn.Title, Content: drawn.Content, Why: drawn.Why, Tags: drawn.Tags, Paths: drawn.Paths, Separate: true}
		for _, e := range drawn.Elements {
			r.Elements = append(r.Elements, e.Key)
		}
		kinds["paths"] += len(drawn.Paths)
		if drawn.ExpiresAt != nil && drawn.ExpiresAt.After(drawn.CreatedAt) {
			r.Expires = drawn.ExpiresAt.Format(time.RFC3339Nano)
			kinds["expires"]++
		} else {
			all[i].ExpiresAt = nil
		}
		now = drawn.CreatedAt
		got, err := m.Remember(ctx, callers[0], r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Deduplicated {
			t.Fatalf("%q is taken as one before", drawn.Content)
		}
		vectors, err := encoder.Embed(ctx, []string{strings.TrimPrefix(drawn.Title+"\n"+drawn.Content, "\n")})
		if err != nil {
			t.Fatal(err)
		}
		all[i].Vector = vectors[0]
	}
	if kinds["paths"] == 0 || kinds["expires"] == 0 {
		t.Errorf("the sample has %v: it shows too little", kinds)
	}
	for _, part := range [][]store.Loaded{all[:25], all[25:]} {
		if err := s.Load(ctx, callers[1], key(1), encoder.Model(), part); err != nil {
			t.Fatal(err)
		}
	}

	admin := d.ConnectAdmin(t)
	var rows [2][]any
	for i := range spaces {
		if err := admin.QueryRow(ctx, `SELECT space_id FROM spaces WHERE scope = 'project' AND owner = $1`, callers[i].Project.String()).Scan(&spaces[i]); err != nil {
			t.Fatal(err)
		}
		found, err := admin.Query(ctx, stored, spaces[i])
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			var text string
			var row any
			if err := found.Scan(&text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(text), &row); err != nil {
				t.Fatal(err)
			}
			rows[i] = append(rows[i], row)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if len(rows[0]) != n {
		t.Fatalf("%d memories were remembered", len(rows[0]))
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" {
		t.Errorf("(-remembered +loaded):\n%s", diff)
	}
	const counters = `SELECT (SELECT to_jsonb(s) - ARRAY['space_id', 'owner'] FROM spaces s WHERE s.space_id = $1)::text
		|| (SELECT jsonb_agg(jsonb_build_array(term, df) ORDER BY term) FROM posting_blocks WHERE space_id = $1 AND upto = 2147483647)::text`
	var counts [2]string
	for i := range spaces {
		if err := admin.QueryRow(ctx, counters, spaces[i]).Scan(&counts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(counts[0], counts[1]); diff != "" {
		t.Errorf("counters (-remembered +loaded):\n%s", diff)
	}
	invariants(t, s, org)
}

// invariants fails for every one that is broken: texts open, terms are those of the texts, counters are right.
func invariants(t *testing.T, s *store.Store, org uuid.UUID) {
	t.Helper()
	found, err := s.Invariants(t.Context(), org, 0)
	if err != nil {
		t.Fatal(err)
	}
	checked := int64(0)
	for _, i := range found {
		checked += i.Checked
		if i.Broken > 0 {
			t.Errorf("%d times it is not so that %s: %v", i.Broken, i.Claim, i.Subjects)
		}
	}
	if checked == 0 {
		t.Error("nothing was checked")
	}
}

// A whole run among few memories: every kind of call succeeds and is measured, what the load leaves behind contradicts nothing, and
// answers are those of a full scan.
func TestRound(t *testing.T) {
	t.Parallel()
	for name, encoder := range map[string]embedding.Provider{"words": embedding.None{}, "vectors": &embedtest.Provider{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Options{Memories: 300, Projects: 3, Concurrency: 2, Mix: DefaultMix(), Seed: 1, Embedder: encoder})
			invariants(t, b.Store, b.org)
			w := newWorker(b, 0, 99)
			w.move(t.Context())
			for _, of := range works {
				for range 3 {
					of.do(w, t.Context())
				}
			}
			w.hangUp(t.Context())
			for kind, err := range w.failed {
				t.Errorf("%s: %v", kind, err)
			}
			r := b.result(w.samples, time.Second)
			for _, k := range r.each() {
				if k.Count == 0 || k.Trips == 0 || k.P50 <= 0 {
					t.Errorf("%s was not measured: %+v", k.name, *k.Kind)
				}
			}
			if r.All.Count < 3*len(works) || len(b.Tracer.top(3)) != 3 {
				t.Errorf("%d calls, statements %v", r.All.Count, b.Tracer.top(3))
			}
			if (r.EncoderMS > 0) != (encoder.Model() != "") {
				t.Errorf("the encoder took %f ms", r.EncoderMS)
			}
			exact, err := b.Exact(t.Context(), 30)
			if err != nil || exact != 1 {
				t.Errorf("%.2f of the answers are those of a full scan, %v", exact, err)
			}
			invariants(t, b.Store, b.org)

			round, err := b.Round(t.Context(), 50*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if round.IndexBytes <= 0 || round.All.Count == 0 {
				t.Errorf("%+v", round)
			}
			var text strings.Builder
			if err := round.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(text.String()) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
					t.Errorf("longer than 80 columns: %s", line)
				}
			}
		})
	}
}

// Writing is measured by rows with their terms, all vectors follow, and what is left behind contradicts nothing.
func TestWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Embedder: &embedtest.Provider{}, Memories: 40, Projects: 2, Concurrency: 4, Mix: Mix{"remember": 1}, Seed: 5})
	w, err := b.Write(t.Context(), 300*time.Millisecond, 60)
	if err != nil {
		t.Fatal(err)
	}
	if w.Remember.Rows == 0 || w.Remember.Rows > w.Calls.Count || w.Import.Rows != 60 || w.Calls.Failed > 0 {
		t.Errorf("remembered %+v in %+v, imported %+v", w.Remember, w.Calls, w.Import)
	}
	if w.Durable {
		t.Error("the database of tests does not wait for its disk")
	}
	if w.Vectors.Late < 60 || w.Vectors.LagS <= 0 || w.Vectors.OldestS <= 0 || w.Vectors.Waiting == 0 {
		t.Errorf("vectors followed: %+v", w.Vectors)
	}
	n, _, err := (&following{Bench: b}).waiting(t.Context())
	if err != nil || n != 0 {
		t.Errorf("%d wait, %v", n, err)
	}
	var text strings.Builder
	if err := w.WriteText(&text); err != nil || !strings.Contains(text.String(), "import          60") {
		t.Errorf("%v\n%s", err, text.String())
	}
	invariants(t, b.Store, b.org)
}

// Whoever stops a run is told so, and nothing goes on.
func TestStoppedRound(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Memories: 20, Projects: 1, Concurrency: 2, Mix: Mix{"recall": 1}, Seed: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := b.Round(ctx, time.Hour); err == nil {
		t.Errorf("got %+v", r)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{1, 1}, {10, 3}, {1000, 200}, {100_000, 7}, {5, 5}} {
		sum, last := 0, c[0]+1
		for _, n := range sizes(c[0], c[1]) {
			if n < 1 || n > last {
				t.Errorf("%v: %d after %d", c, n, last)
			}
			sum, last = sum+n, n
		}
		if sum != c[0] {
			t.Errorf("%v: %d in all", c, sum)
		}
	}
}

func TestParseMix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Mix{
		"": DefaultMix(), "recall=1": {"recall": 1}, "recall=70, remember=30": {"recall": 70, "remember": 30},
		"recall": nil, "recall=0": nil, "recall=-1": nil, "recall=x": nil, "fly=3": nil, "recall=1,": nil, "recall=1001": nil,
	} {
		got, err := ParseMix(text)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
