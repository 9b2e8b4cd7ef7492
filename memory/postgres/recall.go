package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// bySeq is the subquery, for LATERAL, that finds a live memory by its space and number, both expressions, and further conditions. Before a
// table is analyzed for the first time, as after a first import, every index that begins with organization and space looks
// as if it had one row for them, and the smallest would be read through for each memory; asking for the first in order, where
// sorting is off (bySeqOnly), leaves the one index that has the order.
func bySeq(columns, space, seq, and string) string {
	const every = `memory_id, space_id, seq, handle, kind, status, confirmed_at, citations, ignored_by, verify, disputed, unreviewed, expires_at, refused_by, term_count`
	return `(SELECT ` + columns + ` FROM (SELECT ` + every + ` FROM memories WHERE org_id = $1 AND space_id = ` + space + ` AND seq >= ` + seq + ` ORDER BY seq LIMIT 1) x
		WHERE seq = ` + seq + ` AND status = 'live'` + and + ` OFFSET 0)`
}

// bySeqOnly is the setting that bySeq wants.
const bySeqOnly = `set_config('enable_sort', 'off', true)`

// planner keeps the plans of recall independent of statistics, which are wrong right after an import and for the one
// tenant that is a thousand times the others: a plan is made once for each prepared statement, and what is meant to loop
// over an index is written as LATERAL with OFFSET 0, which nothing else can run. Compiling (jit) and parallel workers cost
// more than these statements take.
const planner = `SELECT ` + plannerSettings

const plannerSettings = `set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('max_parallel_workers_per_gather', '0', true), ` + bySeqOnly

// liveCounts add up to N of the idf formula, with what has expired; next_seq is above every number of the space.
const liveCounts = `SELECT space_id, live, next_seq FROM spaces WHERE org_id = $1 AND space_id = ANY ($2)`

// termFrequencies adds up df over the spaces, with what has expired.
const termFrequencies = `
	SELECT w.ordinal, f.df FROM unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL (
		SELECT sum(df) AS df FROM posting_blocks WHERE org_id = $1 AND space_id = ANY ($2) AND term = w.term AND upto = 2147483647) f
	WHERE f.df > 0`

// attachedTo gives what is attached to elements, with the distance of the nearest.
const attachedTo = `
	SELECT m.space_id, m.seq, min(e.distance)
	FROM unnest($2::uuid[], $3::int[]) AS e (element_id, distance)
	CROSS JOIN LATERAL (SELECT memory_id FROM attachments
		WHERE org_id = $1 AND element_id = e.element_id AND detached_at IS NULL OFFSET 0) a
	CROSS JOIN LATERAL (SELECT space_id, seq, status FROM memories WHERE org_id = $1 AND memory_id = a.memory_id OFFSET 0) m
	WHERE m.status = 'live'
	GROUP BY m.space_id, m.seq`

// placesOf gives the numbers of live memories.
const placesOf = `
	SELECT m.space_id, m.seq, 0 FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT space_id, seq, status FROM memories WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) m
	WHERE m.status = 'live'`

// place is a memory's number within the organization, as postings and vectors know it.
type place struct{ space, seq int32 }

// Search finds candidates, in the memory of this process where that holds the spaces, else in the database. There, what the words and the
// vector of the query say about each memory, and which memories the narrowing admits, come as plain sets of numbers and are put together
// here; one statement (rankQuery) then looks the promising ones up and brings the best.
func (v *view) Search(ctx context.Context, s memory.Search) (memory.Found, error) {
	if len(s.Spaces) == 0 {
		return memory.Found{}, nil
	}
	s.Best = 0
	s.Vector = HalfPrecision(s.Vector) // whoever compares, in memory or the database, compares the same
	if found, done, err := v.searchResident(ctx, s); done || err != nil {
		return found, err
	}
	m := &searcher{view: v, search: s}
	if err := m.count(ctx); err != nil {
		return memory.Found{}, fmt.Errorf("count terms: %w", err)
	}
	if err := m.narrow(ctx); err != nil {
		return memory.Found{}, fmt.Errorf("narrow: %w", err)
	}
	if err := m.match(ctx); err != nil {
		return memory.Found{}, fmt.Errorf("match words: %w", err)
	}
	if err := m.compare(ctx); err != nil {
		return memory.Found{}, fmt.Errorf("compare vectors: %w", err)
	}
	candidates, err := m.rank(ctx)
	if err == nil && m.approximate {
		candidates, err = m.complete(ctx, candidates)
	}
	if err != nil {
		return memory.Found{}, fmt.Errorf("rank: %w", err)
	}
	return memory.Found{Words: m.search.Words, Best: m.search.Best, Candidates: candidates, Approximate: m.approximate}, nil
}

// searcher is one search under way.
type searcher struct {
	*view
	search   memory.Search
	expired  map[int32]*expiry // what has left recall, by space
	admitted map[place]int     // by the narrowing, with distances; nil = all
	sums     sums              // weight of the query's words
	cosines  map[place]float64 // of the query's vector
	live     int               // memories of the spaces, with what has expired
	// approximate tells that an index chose the vectors that were compared, so that some may have been missed.
	approximate bool
	rest        *rest // when approximate
}

// count weighs the words of the query over everything the recall may see, and learns what has expired.
func (m *searcher) count(ctx context.Context) error {
	terms := make([]int64, len(m.search.Terms))
	for i, t := range m.search.Terms {
		terms[i] = m.keys.Hash64(termDomain, t)
	}
	var at *time.Time
	if !m.search.Expired {
		at = &m.search.At
	}
	n := 0
	df := make([]int, len(terms))
	digests := map[int32]digest{}
	m.sums = sums{}
	b := &pgx.Batch{}
	b.Queue(planner)
	b.Queue(expiredDigests, m.org, m.search.Spaces, at).Query(func(rows pgx.Rows) error {
		var space int32
		var d digest
		_, err := pgx.ForEachRow(rows, []any{&space, &d.count, &d.hash}, func() error {
			digests[space] = d
			n -= d.count
			return nil
		})
		return err
	})
	if !m.search.Browse {
		b.Queue(liveCounts, m.org, m.search.Spaces).Query(func(rows pgx.Rows) error {
			var space, next int32
			var live int
			_, err := pgx.ForEachRow(rows, []any{&space, &live, &next}, func() error {
				n += live
				m.live += live
				m.sums[space] = make([]int64, next)
				return nil
			})
			return err
		})
		b.Queue(termFrequencies, m.org, m.search.Spaces, terms).Query(func(rows pgx.Rows) error {
			var ordinal, count int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &count}, func() error {
				df[ordinal-1] += int(count)
				return nil
			})
			return err
		})
	}
	if err := m.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if err := m.expire(ctx, digests, at); err != nil {
		return err
	}
	if !m.search.Browse {
		for i, t := range terms {
			for _, e := range m.expired {
				df[i] -= int(e.df[t])
			}
		}
		m.search.Words = m.search.Ranking.Weigh(m.search.Terms, n, df)
	}
	return nil
}

// narrow finds the memories that element, paths and tags admit. Kinds are left to the final statement, which reads them.
func (m *searcher) narrow(ctx context.Context) error {
	n := m.search.Narrow
	if n.ByElement {
		ids, distances := make([]uuid.UUID, len(n.Elements)), make([]int32, len(n.Elements))
		for i, e := range n.Elements {
			ids[i], distances[i] = e.ID, int32(e.Distance) //nolint:gosec // the depth of a model
		}
		set, err := m.set(ctx, attachedTo, m.org, ids, distances)
		if err != nil {
			return err
		}
		m.admit(set)
	}
	if n.ByPath {
		set, err := m.set(ctx, placesOf, m.org, n.PathMemories)
		if err != nil {
			return err
		}
		owned, err := m.set(ctx, attachedTo, m.org, n.PathElements, make([]int32, len(n.PathElements)))
		if err != nil {
			return err
		}
		maps.Copy(set, owned)
		m.admit(set)
	}
	for _, tag := range n.Tags {
		set := map[place]int{}
		err := m.postings(ctx, postingLists, func(space int32, _ int, seqs []int32) {
			for _, seq := range seqs {
				set[place{space, seq}] = 0
			}
		}, m.search.Spaces, []int64{m.keys.Hash64(tagDomain, tag)})
		if err != nil {
			return err
		}
		m.admit(set)
	}
	return nil
}

// admit intersects; distances add up, and only an element's are not 0.
func (m *searcher) admit(set map[place]int) {
	if m.admitted == nil {
		m.admitted = map[place]int{}
		for p, d := range set {
			if !m.hasExpired(p) && slices.Contains(m.search.Spaces, p.space) {
				m.admitted[p] = d
			}
		}
		return
	}
	maps.DeleteFunc(m.admitted, func(p place, _ int) bool { _, ok := set[p]; return !ok })
	for p := range m.admitted {
		m.admitted[p] += set[p]
	}
}

// admits tells whether a memory may be a result, as far as numbers tell.
func (m *searcher) admits(p place) bool {
	if m.admitted != nil {
		_, ok := m.admitted[p]
		return ok
	}
	return !m.hasExpired(p)
}

func (m *searcher) set(ctx context.Context, sql string, args ...any) (map[place]int, error) {
	rows, err := m.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out := map[place]int{}
	var p place
	var distance int
	_, err = pgx.ForEachRow(rows, []any{&p.space, &p.seq, &distance}, func() error {
		out[p] = distance
		return nil
	})
	return out, err
}

// evidence is a memory's as Search.Near wants it.
func (m *searcher) evidence(p place) memory.Evidence {
	e := memory.Evidence{Matched: m.sums.of(p)}
	if cosine, ok := m.cosines[p]; ok {
		e.Cosine = &cosine
	}
	return e
}

// lookedUp is how many of the most relevant candidates are looked up at first, or lookedUpEach for each that is wanted. It
// mostly covers what words alone give; common words, and vectors, give a large part of all memories.
const (
	lookedUp     = 512
	lookedUpEach = 16
)

// rank looks up the memories that are near enough to the query, the most relevant first, and brings the best. It stops
// where even a memory of the best standing could not have the score of the last that is wanted, nor be the best itself.
func (m *searcher) rank(ctx context.Context) ([]memory.Candidate, error) {
	if m.search.Browse {
		l, err := m.look(ctx, m.everything(), 0)
		return l.found, err
	}
	all := m.relevance()
	var out []memory.Candidate
	best := 0.0
	done, end := 0, len(all)
	for size := max(lookedUp, lookedUpEach*m.search.Limit); done < end; size *= 4 {
		n := min(done+size, end)
		l, err := m.look(ctx, all[done:n], best)
		if err != nil {
			return nil, err
		}
		best = max(best, l.relevance)
		if l.held > m.search.Best {
			m.search.Best = l.held
			if done > 0 {
				// What was looked up before was put in order, and cut, by a lesser best.
				out, done, end = nil, 0, len(all)
				continue
			}
		}
		out, done = append(out, l.found...), n
		end = done + m.promising(all[done:end], best, m.least(out))
	}
	return out, nil
}

// least is the score of the last candidate that is wanted, 0 when there are not so many.
func (m *searcher) least(found []memory.Candidate) float64 {
	if len(found) < m.search.Limit {
		return 0
	}
	scores := make([]float64, len(found))
	for i, c := range found {
		scores[i] = m.search.Score(c)
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	return scores[m.search.Limit-1]
}

// promising is how many of the memories, most relevant first, may be wanted, or change what is.
func (m *searcher) promising(left []candidate, best, least float64) int {
	n, _ := slices.BinarySearchFunc(left, least, func(c candidate, least float64) int {
		wanted := c.relevance*m.search.Ranking.MaxStanding() >= least*slack || c.relevance > m.search.Best
		if wanted && c.relevance >= m.search.Share()*best*slack {
			return -1
		}
		return 1
	})
	return n
}

// candidate is a memory with its relevance to the query.
type candidate struct {
	place
	relevance float64
}

// everything gives what a recall without a query is about: what was admitted, nil for all.
func (m *searcher) everything() []candidate {
	if m.admitted == nil {
		return nil
	}
	out := make([]candidate, 0, len(m.admitted))
	for p := range m.admitted {
		out = append(out, candidate{p, 1})
	}
	return out
}

// relevance gives the promising memories, the most relevant first: those above their floor and, unless kinds are still to
// be sorted out, within reach of the best.
func (m *searcher) relevance() []candidate {
	var out []candidate
	near := func(p place) {
		if relevance, ok := m.search.Near(m.evidence(p)); ok {
			out = append(out, candidate{p, relevance})
		}
	}
	m.sums.each(func(p place, _ int64) {
		if _, twice := m.cosines[p]; !twice && m.admits(p) {
			near(p)
		}
	})
	for p := range m.cosines {
		near(p)
	}
	if len(m.search.Narrow.Kinds) == 0 {
		best := 0.0
		for _, f := range out {
			best = max(best, f.relevance)
		}
		out = slices.DeleteFunc(out, func(f candidate) bool { return f.relevance < m.search.Share()*best })
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.relevance, a.relevance), cmp.Compare(a.space, b.space), cmp.Compare(a.seq, b.seq))
	})
	return out
}

// looked is what looking candidates up brought.
type looked struct {
	found     []memory.Candidate // the best
	relevance float64            // the most among all that are of the kinds wanted
	held      float64            // the most memory.Factors.Held among those that are results
}

// look brings the best of some candidates. best is the most relevance of those looked up before.
func (m *searcher) look(ctx context.Context, among []candidate, best float64) (looked, error) {
	var l looked
	q := rankQuery{Search: m.search, org: m.org, all: m.search.Browse && m.admitted == nil, among: among, distance: m.admitted, best: best}
	if !q.all && len(among) == 0 {
		return l, nil
	}
	sql, args := q.build()
	rows, err := m.tx.Query(ctx, sql, args...)
	if err != nil {
		return l, err
	}
	var c memory.Candidate
	var p place
	_, err = pgx.ForEachRow(rows, []any{&p.space, &p.seq, &c.ID, &c.Handle, &c.Kind, &c.ConfirmedAt, &c.Citations, &c.IgnoredBy,
		&c.Doubted, &c.Unreviewed, &l.relevance, &l.held}, func() error {
		c.ConfirmedAt = c.ConfirmedAt.UTC()
		c.Evidence, c.Distance = m.evidence(p), m.admitted[p]
		l.found = append(l.found, c)
		return nil
	})
	return l, err
}

// PathPatterns gives the paths that live memories name at or above the prefixes, or inside the folders.
func (v *view) PathPatterns(ctx context.Context, spaces []int32, project uuid.UUID, prefixes, folders []string) ([]memory.PathPattern, error) {
	rows, err := v.tx.Query(ctx, `
		SELECT p.memory_id, p.pattern
		FROM memory_paths p JOIN memories m ON m.org_id = p.org_id AND m.memory_id = p.memory_id
		WHERE p.org_id = $1 AND p.project_id = $3 AND p.prefix = ANY ($4) AND m.space_id = ANY ($2) AND m.status = 'live'
		UNION
		SELECT p.memory_id, p.pattern
		FROM unnest($5::text[]) AS f (folder)
		JOIN memory_paths p ON p.org_id = $1 AND p.project_id = $3 AND (f.folder = '' OR starts_with(p.prefix, f.folder || '/'))
		JOIN memories m ON m.org_id = p.org_id AND m.memory_id = p.memory_id
		WHERE m.space_id = ANY ($2) AND m.status = 'live'
		ORDER BY 1, 2`, v.org, spaces, project, prefixes, folders)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.PathPattern, error) {
		var p memory.PathPattern
		return p, row.Scan(&p.Memory, &p.Pattern)
	})
}

// linking walks from the names to what links to them; there are fewer links than memories.
const linking = `
	SELECT w.ordinal, m.memory_id
	FROM unnest($3::int[], $4::bytea[]) AS w (ordinal, hash)
	CROSS JOIN LATERAL (SELECT memory_id FROM links WHERE org_id = $1 AND target_hash = w.hash OFFSET 0) l
	CROSS JOIN LATERAL (SELECT memory_id, space_id, handle, confirmed_at, status FROM memories
		WHERE org_id = $1 AND memory_id = l.memory_id OFFSET 0) m
	WHERE m.status = 'live' AND m.space_id = ANY ($2)
	GROUP BY w.ordinal, m.memory_id, m.confirmed_at, m.handle
	ORDER BY w.ordinal, m.confirmed_at DESC, m.handle`

// Linking gives the live memories whose text links to one of the names of each set.
func (v *view) Linking(ctx context.Context, spaces []int32, names [][]string, limit int) ([][]uuid.UUID, error) {
	var sets []int32
	var hashes [][]byte
	for i, set := range names {
		for _, n := range set {
			sets, hashes = append(sets, int32(i)), append(hashes, v.linkHash(n))
		}
	}
	rows, err := v.tx.Query(ctx, linking, v.org, spaces, sets, hashes)
	if err != nil {
		return nil, err
	}
	out := make([][]uuid.UUID, len(names))
	var set int32
	var id uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&set, &id}, func() error {
		if len(out[set]) < limit {
			out[set] = append(out[set], id)
		}
		return nil
	})
	return out, err
}
