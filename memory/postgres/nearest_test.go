package postgres

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// crowd is a database with two organizations that share the index of one model: the larger, and one whose vectors all lie
// nearer to the question.
type crowd struct {
	pgtest.Database
	store        *Store
	large, small uuid.UUID
	model        postgres.VectorModel
	question     []float32
}

const (
	crowdBound = 500 // for DefaultExactVectors
	ofLarge    = 2200
	ofSmall    = 1100
)

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	ctx := t.Context()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	d := pgtest.NewDatabase(t)
	c := &crowd{Database: d, store: New(d.DB, master, ExactVectors(crowdBound)), model: postgres.VectorModel{Model: `it's "m"\1`, Dimensions: 16}}
	random := rand.New(rand.NewPCG(3, 4))
	direction := func(near float64) []float32 {
		v := make([]float32, c.model.Dimensions)
		sum := 0.0
		for i := range v {
			x := random.NormFloat64()
			if i == 0 {
				x += near
			}
			v[i] = float32(x)
			sum += x * x
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		return v
	}
	c.question = make([]float32, c.model.Dimensions)
	c.question[0] = 1
	admin := d.ConnectAdmin(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := admin.Exec(ctx, sql, args...); err != nil {
			t.Fatalf("%v in %s", err, sql)
		}
	}
	for _, o := range []struct {
		id   *uuid.UUID
		name string
		n    int
		near float64
	}{{&c.large, "large", ofLarge, 0}, {&c.small, "small", ofSmall, 20}} {
		if *o.id, err = c.store.CreateOrganization(ctx, o.name, time.Now()); err != nil {
			t.Fatal(err)
		}
		exec(`INSERT INTO spaces (org_id, space_id, scope, owner, live, next_seq) VALUES ($1, 1, 'organization', '', $2, $2 + 1)`, *o.id, o.n)
		b := &pgx.Batch{}
		for i := range o.n {
			b.Queue(`INSERT INTO vectors (org_id, model, space_id, seq, embedding) VALUES ($1, $2, 1, $3, $4::text::halfvec)`,
				*o.id, c.model.Model, i+1, pgvector.NewHalfVector(direction(o.near)).String())
		}
		if err := admin.SendBatch(ctx, b).Close(); err != nil {
			t.Fatal(err)
		}
	}
	exec(`VACUUM ANALYZE vectors`)
	return c
}

// keep makes the indexes those of the models and gives what was done, "+" for built and "-" for dropped.
func (c *crowd) keep(ctx context.Context, models ...postgres.VectorModel) (string, error) {
	done := ""
	err := postgres.KeepVectorIndexes(ctx, c.Owner, models, func(change postgres.IndexChange) {
		if change.Model == "" {
			done += "-"
		} else {
			done += "+"
		}
	})
	return done, err
}

// search runs fn as a recall of an organization.
func (c *crowd) search(t *testing.T, org uuid.UUID, exact exactBound, fn func(m *searcher) error) *searcher {
	t.Helper()
	var m *searcher
	err := c.InOrg(t.Context(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		m = &searcher{view: &view{tx: tx, org: org, exact: exact, tried: &attempts{}}, sums: sums{}, search: memory.Search{
			Spaces: []int32{1}, Terms: []string{"x"}, Model: c.model.Model, Vector: c.question, Ranking: memory.DefaultRanking(), Limit: 10}}
		if _, err := tx.Exec(t.Context(), planner); err != nil {
			return err
		}
		if err := tx.QueryRow(t.Context(), `SELECT live FROM spaces WHERE org_id = $1`, org).Scan(&m.live); err != nil {
			return err
		}
		return fn(m)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// best10 gives the memories nearest to the question.
func (m *searcher) best10() []place {
	places := make([]place, 0, len(m.cosines))
	for p := range m.cosines {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int {
		if m.cosines[a] > m.cosines[b] {
			return -1
		}
		return 1
	})
	return places[:10]
}

// Above the bound the nearest come from the index, and they are those of a comparison with all. Vectors of another
// organization are in the index too, a thousand of them nearer than any of this one: none takes a place.
func TestNearestAmongOthers(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx := t.Context()
	compare := func(m *searcher) error { return m.compare(ctx) }
	all := c.search(t, c.large, exactBound(math.MaxInt32), compare)
	if all.approximate || len(all.cosines) != ofLarge {
		t.Fatalf("without a bound %d were compared, approximate %v", len(all.cosines), all.approximate)
	}
	if m := c.search(t, c.large, crowdBound, compare); m.approximate || len(m.cosines) != ofLarge {
		t.Errorf("without an index %d were compared, approximate %v", len(m.cosines), m.approximate)
	}
	if done, err := c.keep(ctx, c.model); err != nil || done != "+" {
		t.Fatalf("built %q, %v", done, err)
	}
	m := c.search(t, c.large, crowdBound, compare)
	if !m.approximate || len(m.cosines) < nearestWanted || len(m.cosines) == ofLarge {
		t.Errorf("with an index %d were compared, approximate %v", len(m.cosines), m.approximate)
	}
	if got, want := m.best10(), all.best10(); !slices.Equal(got, want) {
		t.Errorf("nearest %v, want %v", got, want)
	}
	for p, cosine := range m.cosines {
		if cosine != all.cosines[p] {
			t.Fatalf("cosine of %v is %v, want %v", p, cosine, all.cosines[p])
		}
	}
	// What words speak for is compared too, however far it is.
	far := slices.MinFunc(slices.Collect(keysOf(all.cosines)), func(a, b place) int {
		if all.cosines[a] < all.cosines[b] {
			return -1
		}
		return 1
	})
	m = c.search(t, c.large, crowdBound, func(m *searcher) error {
		m.sums.upTo(1, far.seq)[far.seq] = 7
		return m.compare(ctx)
	})
	if m.cosines[far] != all.cosines[far] || m.sums.of(far) != 7 {
		t.Errorf("the farthest that has the word: cosine %v, weight %d", m.cosines[far], m.sums.of(far))
	}
}

func keysOf(m map[place]float64) func(func(place) bool) {
	return func(yield func(place) bool) {
		for p := range m {
			if !yield(p) {
				return
			}
		}
	}
}

// The planner reads the index in the order that is asked for, as the role that serves, whatever the statistics say.
func TestNearestPlan(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	if _, err := c.keep(t.Context(), c.model); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{"recall": nearest(c.model), "remember": nearestVectors(c.model)} {
		plan := genericPlan(t, c.DB, c.large, sql, `SELECT set_config('enable_sort', 'off', true)`)
		if !strings.Contains(plan, "Index Scan using "+c.model.IndexName()) || !strings.Contains(plan, "Order By:") || strings.Contains(plan, "Sort") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
	plan := genericPlan(t, c.DB, c.large, cosinesAmong)
	if !strings.Contains(plan, "vectors_pkey") || strings.Contains(plan, "Seq Scan") {
		t.Errorf("among some:\n%s", plan)
	}
}

// A build that ended halfway is dropped and begun anew; meanwhile recall compares all. While one process builds another
// does not. What nobody uses any more is dropped.
func TestABuildThatEndsHalfway(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx := t.Context()
	// A build waits for those who write the table, so this one does not end.
	writer := c.ConnectAdmin(t)
	if _, err := writer.Exec(ctx, `BEGIN; UPDATE vectors SET seq = seq WHERE false`); err != nil {
		t.Fatal(err)
	}
	building, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		_, err := c.keep(building, c.model)
		ended <- err
	}()
	state := func() (postgres.VectorIndex, bool) {
		t.Helper()
		there, err := c.VectorIndexes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		index, ok := there[c.model.IndexName()]
		return index, ok
	}
	for ok := false; !ok; _, ok = state() {
		select {
		case err := <-ended:
			t.Fatalf("the build ended: %v", err)
		default:
		}
	}
	if _, err := c.keep(ctx, c.model); !errors.Is(err, postgres.ErrIndexing) {
		t.Errorf("a second builder: %v", err)
	}
	stop()
	if err := <-ended; err == nil {
		t.Fatal("the build was not stopped")
	}
	if index, ok := state(); !ok || index.Ready {
		t.Fatalf("halfway: %+v, %v", index, ok)
	}
	if m := c.search(t, c.large, crowdBound, func(m *searcher) error { return m.compare(ctx) }); m.approximate || len(m.cosines) != ofLarge {
		t.Errorf("halfway %d were compared, approximate %v", len(m.cosines), m.approximate)
	}
	if _, err := writer.Exec(ctx, `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	wanted, err := c.store.VectorIndexes(ctx)
	if err != nil || len(wanted) != 1 || wanted[0] != c.model {
		t.Fatalf("wanted %v, %v", wanted, err)
	}
	// The lock of a connection that broke off goes with it, which may take a moment.
	var done string
	for done, err = c.keep(ctx, wanted...); errors.Is(err, postgres.ErrIndexing); done, err = c.keep(ctx, wanted...) {
	}
	if index, _ := state(); err != nil || done != "-+" || !index.Ready {
		t.Errorf("then %q, %v, %+v", done, err, index)
	}
	if done, err := c.keep(ctx, wanted...); err != nil || done != "" {
		t.Errorf("again %q, %v", done, err)
	}
	// One of another length under the same name is none of the index's business.
	if _, err := writer.Exec(ctx, `INSERT INTO vectors (org_id, model, space_id, seq, embedding) VALUES ($1, $2, 1, 90000, '[1,2,3]')`, c.large, c.model.Model); err != nil {
		t.Errorf("a vector of another length: %v", err)
	}
	if done, err := c.keep(ctx); err != nil || done != "-" {
		t.Errorf("of a model that is not used %q, %v", done, err)
	}
}

// Whether an index pays depends on the scope and on what others have in it.
func TestPays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope, total float64
		want         bool
	}{
		{20_000, 20_000, false}, {20_001, 20_001, true}, {25_000, 25_000, true}, {25_000, 1_000_000, false}, {150_000, 1_000_000, true},
	} {
		if got := exactBound(DefaultExactVectors).pays(c.scope, c.total); got != c.want {
			t.Errorf("%v of %v: %v", c.scope, c.total, got)
		}
	}
}

// A write finds its like by the index, in its own space.
func TestNearByIndex(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	ctx := t.Context()
	admin := c.ConnectAdmin(t)
	if _, err := admin.Exec(ctx, `INSERT INTO memories (org_id, memory_id, space_id, seq, handle, kind, status, user_name, origin, created_at, confirmed_at, text_hash, term_count)
		SELECT $1, gen_random_uuid(), 1, i, 'm-' || i, 'note', 'live', 'u', 'cli', '2030-01-01', '2030-01-01', '', 1 FROM generate_series(1, $2::int) AS i`, c.large, ofLarge); err != nil {
		t.Fatal(err)
	}
	near := func() (out []memory.Near) {
		t.Helper()
		err := c.store.Write(ctx, c.large, []memory.SpaceKey{{Scope: memory.Organization}}, func(tx memory.Tx) error {
			var err error
			out, err = tx.Near(ctx, memory.NearQuery{Space: 1, Kind: memory.Note, Model: c.model.Model, Vector: c.question, MinCosine: 0.5, MinOverlap: 0.5, Limit: 5})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := near()
	if len(want) != 5 {
		t.Fatalf("%d are near", len(want))
	}
	if _, err := c.keep(ctx, c.model); err != nil {
		t.Fatal(err)
	}
	if got := near(); !slices.Equal(got, want) {
		t.Errorf("near %v, want %v", got, want)
	}
}
