package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// cosines compares the query's vector with every vector of its model: an exact scan.
const cosines = `
	SELECT v.space_id, v.seq, 1 - (v.embedding <=> $4) FROM vectors v
	WHERE v.org_id = $1 AND v.model = $3 AND v.space_id = ANY ($2)`

// cosinesAmong is cosines for some memories only, each looked up by its key. A memory without a vector is left out.
const cosinesAmong = `
	SELECT c.space_id, c.seq, 1 - (v.embedding <=> $4)
	FROM unnest($2::int[], $5::int[]) AS c (space_id, seq)
	CROSS JOIN LATERAL (
		SELECT embedding FROM vectors WHERE org_id = $1 AND model = $3 AND space_id = c.space_id AND seq = c.seq OFFSET 0) v`

// DefaultExactVectors is up to how many vectors in scope a recall compares all. The index pays only beyond: it visits some
// nearestWanted vectors at random, each for about what twenty cost that are read in a row (measured, docs/benchmarks.md).
const DefaultExactVectors = 20_000

// exactBound is the bound of Store: DefaultExactVectors, less in tests.
type exactBound float64

// ExactVectors changes DefaultExactVectors.
func ExactVectors(n int) Option { return func(s *Store) { s.exact = exactBound(n) } }

// pays tells whether the index over a model's vectors is faster than comparing all of a scope. All organizations share the
// index, so of total vectors in it, it visits total/scope for each that is of the scope, and its cost grows with that;
// the cost of comparing all grows with scope. At the bound they are equal when the scope is all there is.
func (b exactBound) pays(scope, total float64) bool {
	return scope > float64(b) && scope*scope > float64(b)*total
}

const (
	// nearestWanted is how many of the nearest vectors the index gives to a recall. Words and standing lift memories that are
	// far down in meaning: the farther down the last of these is, the fewer others have to be looked at (see complete).
	nearestWanted = 1000
	// wordiestWanted is how many of the memories that words speak for most are compared beside the nearest.
	wordiestWanted = 1000
	// nearWanted is how many of the nearest a write looks at: what is the same, or almost, is at the top.
	nearWanted = 64
	// searchWidth is how many candidates the index keeps in view (hnsw.ef_search); 200 miss one in 200 of the ten nearest,
	// 400 one in 1,000.
	searchWidth = 400
	// visitsPerWanted bounds the vectors that are visited for each that is wanted, beyond the share that other scopes have.
	visitsPerWanted = 20
)

// attempts remembers by organization where the index did not suffice. Where standing decides much of what comes first, too
// many memories have to be looked at beside the nearest; to learn that anew with each recall would cost more than the index
// saves.
type attempts struct {
	mu   sync.Mutex
	left map[uuid.UUID]int // recalls of an organization until the next attempt
}

// restAfterMiss is how many recalls of an organization compare all after one for which the index did not suffice.
const restAfterMiss = 15

// due tells whether a recall is to try the index.
func (a *attempts) due(org uuid.UUID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left[org] == 0 {
		return true
	}
	a.left[org]--
	return false
}

// missed notes that the index did not suffice.
func (a *attempts) missed(org uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left == nil {
		a.left = map[uuid.UUID]int{}
	}
	a.left[org] = restAfterMiss
}

// nearest finds the nearest vectors of some spaces by the index of their model: parameters are organization, spaces, the
// vector and how many. Condition and expression are those of the index, as text. The rows of other scopes are
// sorted out by the scan, which goes on until it has as many as are wanted (hnsw.iterative_scan).
func nearest(m postgres.VectorModel) string {
	return fmt.Sprintf(`
	SELECT space_id, seq, 1 - (%[1]s <=> $3) FROM vectors
	WHERE %[2]s AND org_id = $1 AND space_id = ANY ($2)
	ORDER BY %[1]s <=> $3 LIMIT $4`, m.Expression(), m.Condition())
}

// indexOn are the settings of a statement that reads an index over vectors. Without sorting there is no other way to its order, whatever
// the statistics say.
const indexOn = `SELECT ` + bySeqOnly + `, set_config('hnsw.iterative_scan', 'relaxed_order', true),
	set_config('hnsw.ef_search', $1, true), set_config('hnsw.max_scan_tuples', $2, true), set_config('hnsw.scan_mem_multiplier', '4', true)`

// vectorIndex gives how many vectors the index of a model holds; false when it does not exist, is not whole yet, or does not
// pay for a scope of that size.
func (v *view) vectorIndex(ctx context.Context, m postgres.VectorModel, scope int) (total float64, ok bool, err error) {
	if float64(scope) <= float64(v.exact) {
		return 0, false, nil
	}
	there, err := postgres.VectorIndexes(ctx, v.tx)
	if err != nil {
		return 0, false, fmt.Errorf("look for an index: %w", err)
	}
	index := there[m.IndexName()]
	total = max(index.Tuples, float64(scope)) // the estimate is of the last build or vacuum
	return total, index.Ready && v.exact.pays(float64(scope), total), nil
}

// queueNearest puts a statement that reads an index between its settings.
func queueNearest(b *pgx.Batch, wanted int, scope, total float64, sql string, args ...any) *pgx.QueuedQuery {
	visits := int(float64(wanted*visitsPerWanted) * max(1, total/scope))
	b.Queue(indexOn, fmt.Sprint(min(searchWidth, max(wanted, 40))), fmt.Sprint(visits))
	return b.Queue(sql, args...)
}

// compare finds the cosines of the query's vector with those of admitted memories: with all of them, unless they are many
// and there is an index.
func (m *searcher) compare(ctx context.Context) error {
	if !m.search.ByVector() {
		return nil
	}
	m.cosines = map[place]float64{}
	vector := pgvector.NewHalfVector(m.search.Vector)
	switch {
	case m.admitted != nil && len(m.admitted)*lookupCost < m.live:
		return m.compareAmong(ctx, vector, slices.Collect(maps.Keys(m.admitted)))
	case m.admitted == nil && len(m.search.Narrow.Kinds) == 0: // the nearest of all may be of another kind, or not admitted
		done, err := m.compareNearest(ctx, vector)
		if done || err != nil {
			m.approximate = done
			return err
		}
		clear(m.cosines)
	}
	return m.compareAll(ctx, vector)
}

// compareAll finds the cosines of all that are admitted.
func (m *searcher) compareAll(ctx context.Context, vector pgvector.HalfVector) error {
	rows, err := m.tx.Query(ctx, cosines, m.org, m.search.Spaces, m.search.Model, vector)
	if err != nil {
		return err
	}
	return m.collect(rows)
}

// collect keeps the cosines of admitted memories.
func (m *searcher) collect(rows pgx.Rows) error {
	var p place
	var cosine float64
	_, err := pgx.ForEachRow(rows, []any{&p.space, &p.seq, &cosine}, func() error {
		if m.admits(p) {
			m.cosines[p] = cosine
		}
		return nil
	})
	return err
}

// compareAmong finds the cosines of some memories.
func (m *searcher) compareAmong(ctx context.Context, vector pgvector.HalfVector, places []place) error {
	spaces, seqs := make([]int32, len(places)), make([]int32, len(places))
	for i, p := range places {
		spaces[i], seqs[i] = p.space, p.seq
	}
	rows, err := m.tx.Query(ctx, cosinesAmong, m.org, spaces, m.search.Model, vector, seqs)
	if err != nil {
		return err
	}
	return m.collect(rows)
}

// compareNearest finds the cosines of the nearest by an index, and of those that words speak for most. What is in neither set
// is left to complete. It is not done when there is no index, or the index gave so few that the rest may matter.
func (m *searcher) compareNearest(ctx context.Context, vector pgvector.HalfVector) (done bool, err error) {
	model := postgres.VectorModel{Model: m.search.Model, Dimensions: len(m.search.Vector)}
	total, ok, err := m.vectorIndex(ctx, model, m.live)
	if err != nil || !ok || !m.tried.due(m.org) {
		return false, err
	}
	found := 0
	b := &pgx.Batch{}
	queueNearest(b, nearestWanted, float64(m.live), total, nearest(model), m.org, m.search.Spaces, vector, nearestWanted).Query(func(rows pgx.Rows) error {
		err := m.collect(rows)
		found = int(rows.CommandTag().RowsAffected())
		return err
	})
	if err := m.tx.SendBatch(ctx, b).Close(); err != nil {
		return false, err
	}
	// Other scopes' vectors, or what has expired, took their places.
	if found < nearestWanted || len(m.cosines) < nearestWanted/2 {
		m.tried.missed(m.org)
		return false, nil
	}
	m.rest = &rest{cosine: 1, sums: map[place]int64{}}
	for _, cosine := range m.cosines {
		m.rest.cosine = min(m.rest.cosine, cosine)
	}
	if wordiest := m.wordiest(wordiestWanted); len(wordiest) > 0 {
		return true, m.compareAmong(ctx, vector, wordiest)
	}
	return true, nil
}

// rest is what is known of the memories that compareNearest left out.
type rest struct {
	cosine float64         // none is nearer, as far as the index knows
	sum    int64           // none has more weight of words
	sums   map[place]int64 // their weights, which are not in searcher.sums
}

// standingFrom finds live memories by the least that everything but relevance multiplies their score with: the product of
// memory.Factors, without what a ranking takes of it from the less relevant. It reads all of a scope, and of each the
// narrow row.
const standingFrom = `
	SELECT space_id, seq FROM memories
	WHERE org_id = $1 AND space_id = ANY ($2) AND status = 'live'
	  AND ($4::float8[])[array_position($3::text[], kind)]
	    * ($6::float8 + (1 - $6::float8) * power(2::float8, -least(1000, greatest(0, date_part('epoch', $5::timestamptz - confirmed_at)) / $7::float8)))
	    * (1 + $8::float8 * least(1, ln(1 + citations::float8) / ln(1 + $9::float8)))
	    * CASE WHEN verify OR disputed THEN $10::float8 ELSE 1 END * CASE WHEN unreviewed THEN $11::float8 ELSE 1 END >= $12::float8
	LIMIT $13`

// complete adds to the candidates of compareNearest what it left out though its standing may lift it among the results: a
// memory that is cited often, or a fresh pitfall, comes before one that is nearer. The last result and the most that a memory
// left out can be relevant say how much standing that takes. When too many have it, all are compared.
func (m *searcher) complete(ctx context.Context, found []memory.Candidate) ([]memory.Candidate, error) {
	last := 0.0
	if len(found) >= m.search.Limit {
		scores := make([]float64, len(found))
		for i, c := range found {
			scores[i] = m.search.Score(c)
		}
		slices.Sort(scores)
		last = scores[len(scores)-m.search.Limit]
	}
	relevance := 0.0
	for _, cosine := range []*float64{&m.rest.cosine, nil} { // a memory may have no vector
		if r, near := m.search.Near(memory.Evidence{Matched: m.rest.sum, Cosine: cosine}); near {
			relevance = max(relevance, r)
		}
	}
	r := m.search.Ranking
	if relevance == 0 || relevance*r.MaxStanding() < last*slack {
		return found, nil
	}
	kinds, weights := texts(memory.Kinds), make([]float64, len(memory.Kinds))
	for i, k := range memory.Kinds {
		weights[i] = r.Kind[k]
	}
	most := m.live / lookupCost
	rows, err := m.tx.Query(ctx, standingFrom, m.org, m.search.Spaces, kinds, weights, m.search.At, r.FreshnessRest, r.HalfLife.Seconds(),
		r.CitationGain, float64(r.CitationFull), r.Doubt, r.Unreviewed, last*slack/relevance, most+1)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (place, error) {
		var p place
		return p, row.Scan(&p.space, &p.seq)
	})
	if err != nil {
		return nil, err
	}
	vector := pgvector.NewHalfVector(m.search.Vector)
	if len(all) > most {
		m.approximate = false
		m.tried.missed(m.org)
		for p, sum := range m.rest.sums {
			m.sums[p.space][p.seq] = sum
		}
		if err := m.compareAll(ctx, vector); err != nil {
			return nil, err
		}
		return m.rank(ctx)
	}
	var some []place
	for _, p := range all {
		if _, known := m.cosines[p]; !known && m.admits(p) {
			some = append(some, p)
			if sum := m.rest.sums[p]; sum > 0 {
				m.sums[p.space][p.seq] = sum
			}
		}
	}
	if len(some) == 0 {
		return found, nil
	}
	if err := m.compareAmong(ctx, vector, some); err != nil {
		return nil, err
	}
	return m.rank(ctx)
}

// wordiest gives the n memories with the most weight of words among those whose cosine is not known. The others of
// these are left out.
func (m *searcher) wordiest(n int) []place {
	type weighed struct {
		place
		sum int64
	}
	var all []weighed
	m.sums.each(func(p place, sum int64) {
		if _, known := m.cosines[p]; !known && m.admits(p) {
			all = append(all, weighed{p, sum})
		}
	})
	slices.SortFunc(all, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.space, b.space), cmp.Compare(a.seq, b.seq))
	})
	out := make([]place, min(n, len(all)))
	for i, w := range all {
		if i < n {
			out[i] = w.place
		} else {
			m.rest.sum = max(m.rest.sum, w.sum)
			m.rest.sums[w.place] = w.sum
			m.sums[w.space][w.seq] = 0
		}
	}
	return out
}
