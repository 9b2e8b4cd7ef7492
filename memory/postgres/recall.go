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
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/memory"
)

// planner keeps the plans of recall independent of statistics, which are wrong right after an import and for the one
// tenant that is a thousand times the others: a plan is made once for each prepared statement, and what is meant to loop
// over an index is written as LATERAL with OFFSET 0, which nothing else can run. Compiling (jit) and parallel workers cost
// more than these statements take.
const planner = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('max_parallel_workers_per_gather', '0', true)`

// liveCount is N of the idf formula, with what has expired.
const liveCount = `SELECT coalesce(sum(live), 0)::int FROM spaces WHERE org_id = $1 AND space_id = ANY ($2)`

// expiredMemories lists what has left recall by its expiry only, through the partial index memories_expires. Its postings
// are still there. A null moment lists nothing.
const expiredMemories = `
	SELECT space_id, seq FROM memories
	WHERE org_id = $1 AND space_id = ANY ($2) AND status = 'live' AND expires_at IS NOT NULL AND expires_at <= $3`

// termFrequencies adds up df over the spaces, with what has expired.
const termFrequencies = `
	SELECT w.ordinal, f.df FROM unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL (
		SELECT sum(df) AS df FROM term_frequencies WHERE org_id = $1 AND space_id = ANY ($2) AND term = w.term) f
	WHERE f.df > 0`

// expiredTerms gives the terms of each expired memory, to be taken off df. Reading them once costs a fraction of looking
// each memory up in the postings of every word.
const expiredTerms = `
	SELECT m.terms FROM (` + expiredMemories + `) e
	CROSS JOIN LATERAL (SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = e.space_id AND seq = e.seq OFFSET 0) m`

// postingLists gives for each space and word the memories that have it, as one array: an index-only scan of one range of
// the primary key for each. Adding up in the program instead of in SQL took a tenth of the time (58,000 postings: 18 ms
// against 190).
const postingLists = `
	SELECT s.space_id, w.ordinal, p.seqs
	FROM unnest($2::int[]) AS s (space_id)
	CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL (
		SELECT array_agg(seq) AS seqs FROM postings WHERE org_id = $1 AND space_id = s.space_id AND term = w.term) p
	WHERE p.seqs IS NOT NULL`

// postingsAmong is postingLists for some memories of one space only, each looked up in the index.
const postingsAmong = `
	SELECT s.space_id, w.ordinal, p.seqs
	FROM unnest($2::int[]) AS s (space_id)
	CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL (
		SELECT array_agg(seq) AS seqs FROM postings WHERE org_id = $1 AND space_id = s.space_id AND term = w.term AND seq = ANY ($4)) p
	WHERE p.seqs IS NOT NULL`

// cosines compares the query's vector with every vector of its model: an exact scan.
const cosines = `
	SELECT v.space_id, v.seq, 1 - (v.embedding <=> $4) FROM vectors v
	WHERE v.org_id = $1 AND v.model = $3 AND v.space_id = ANY ($2)`

// attachedTo gives what is attached to elements, with the distance of the nearest.
const attachedTo = `
	SELECT m.space_id, m.seq, min(e.distance)
	FROM unnest($2::uuid[], $3::int[]) AS e (element_id, distance)
	CROSS JOIN LATERAL (SELECT memory_id FROM attachments
		WHERE org_id = $1 AND element_id = e.element_id AND detached_at IS NULL OFFSET 0) a
	CROSS JOIN LATERAL (SELECT space_id, seq FROM memories WHERE org_id = $1 AND memory_id = a.memory_id AND status = 'live' OFFSET 0) m
	GROUP BY m.space_id, m.seq`

// placesOf gives the numbers of live memories.
const placesOf = `
	SELECT m.space_id, m.seq, 0 FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT space_id, seq FROM memories WHERE org_id = $1 AND memory_id = i.memory_id AND status = 'live' OFFSET 0) m`

// place is a memory's number within the organization, as postings and vectors know it.
type place struct{ space, seq int32 }

// sums holds a weight for each memory by its number: numbers are dense, and an array is ten times a map.
type sums map[int32][]int64

// inadmissible marks a memory whose weight does not matter.
const inadmissible = -1

// at gives the weight of a memory to be changed.
func (s sums) at(p place) *int64 {
	of := s[p.space]
	if int(p.seq) >= len(of) {
		of = append(of, make([]int64, max(int(p.seq)+1-len(of), len(of), 1024))...)
		s[p.space] = of
	}
	return &of[p.seq]
}

// of gives the weight of a memory, 0 when it has none.
func (s sums) of(p place) int64 {
	if of := s[p.space]; int(p.seq) < len(of) {
		return max(0, of[p.seq])
	}
	return 0
}

// each visits the memories that have a weight.
func (s sums) each(fn func(place, int64)) {
	for space, of := range s {
		for seq, sum := range of {
			if sum > 0 {
				fn(place{space, int32(seq)}, sum) //nolint:gosec // it came as one
			}
		}
	}
}

// drop forgets weights that are too small.
func (s sums) drop(least float64) {
	for _, of := range s {
		for seq, sum := range of {
			if sum > 0 && float64(sum) < least {
				of[seq] = 0
			}
		}
	}
}

// Search finds candidates. What the words and the vector of the query say about each memory, and which memories the
// narrowing admits, come as plain sets of numbers and are put together here; one statement (rankQuery) then looks the
// promising ones up and brings the best.
func (v *view) Search(ctx context.Context, s memory.Search) (memory.Found, error) {
	if len(s.Spaces) == 0 {
		return memory.Found{}, nil
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
	if err != nil {
		return memory.Found{}, fmt.Errorf("rank: %w", err)
	}
	return memory.Found{Words: m.search.Words, Candidates: candidates}, nil
}

// searcher is one search under way.
type searcher struct {
	*view
	search   memory.Search
	expired  map[place]bool    // left recall
	admitted map[place]int     // by the narrowing, with distances; nil = all
	sums     sums              // weight of the query's words
	cosines  map[place]float64 // of the query's vector
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
	m.expired = map[place]bool{}
	b := &pgx.Batch{}
	b.Queue(planner)
	b.Queue(expiredMemories, m.org, m.search.Spaces, at).Query(func(rows pgx.Rows) error {
		var p place
		_, err := pgx.ForEachRow(rows, []any{&p.space, &p.seq}, func() error {
			m.expired[p] = true
			return nil
		})
		return err
	})
	if !m.search.Browse {
		b.Queue(liveCount, m.org, m.search.Spaces).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		b.Queue(termFrequencies, m.org, m.search.Spaces, terms).Query(func(rows pgx.Rows) error {
			var ordinal, count int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &count}, func() error {
				df[ordinal-1] += int(count)
				return nil
			})
			return err
		})
		position := make(map[int64]int, len(terms))
		for i, t := range terms {
			position[t] = i
		}
		b.Queue(expiredTerms, m.org, m.search.Spaces, at).Query(func(rows pgx.Rows) error {
			var gone []int64
			_, err := pgx.ForEachRow(rows, []any{&gone}, func() error {
				for _, t := range gone {
					if i, ok := position[t]; ok {
						df[i]--
					}
				}
				return nil
			})
			return err
		})
	}
	if err := m.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if !m.search.Browse {
		m.search.Words = m.search.Ranking.Weigh(m.search.Terms, n-len(m.expired), df)
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
			if !m.expired[p] && slices.Contains(m.search.Spaces, p.space) {
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
	return !m.expired[p]
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

// slack keeps rounding from ever excluding a result: sums are whole numbers, but shares of them are not.
const slack = 1 - 1e-9

const (
	// lookupCost is what looking one memory up costs in postings read in a row; measured between 4 and 10.
	lookupCost = 8
	// chunk is how many postings are read at once without asking whether they are still needed: about a millisecond.
	chunk = 4096
	// champions are looked up early to learn how good the best is.
	champions = 64
)

// match adds up the weight of the query's words in each memory.
//
// It leaves out what cannot be a result, and nothing else (the idea of MaxScore). Words are read from the rarest on. least
// is the least weight of a result as far as is known: the floor's share of all words, and BestShare of the best memory
// seen. Once the words that are left weigh less than that together, a memory that has only those is no result, so their
// postings, which are nearly all there are, need not be read: they are looked up for the memories that may still get
// there. To know the best early, the leaders of each round are looked up in the words that are left.
func (m *searcher) match(ctx context.Context) error {
	words := m.search.Words.Terms
	m.sums = sums{}
	for p := range m.expired {
		*m.sums.at(p) = inadmissible
	}
	if m.search.ByVector() {
		// Meaning may lift a memory with the least of words, so every one counts.
		return m.read(ctx, words)
	}
	least := m.search.Ranking.LexicalFloor * float64(m.search.Words.All) * slack
	share := m.search.Ranking.BestShare * slack
	left := m.search.Words.Seen
	if m.search.Narrow.None() && len(words) > 0 {
		least = max(least, share*float64(words[0].Weight)) // some memory has the rarest word
	}
	for len(words) > 0 && (left == m.search.Words.Seen || float64(left) >= least) {
		n, postings := 0, 0
		for n == 0 || n < len(words) && postings+words[n].DF <= chunk {
			postings += words[n].DF
			left -= words[n].Weight
			n++
		}
		if err := m.read(ctx, words[:n]); err != nil {
			return err
		}
		words = words[n:]
		if len(m.search.Narrow.Kinds) > 0 || len(words) == 0 {
			continue // the best may be of another kind
		}
		best, err := m.best(ctx, words)
		if err != nil {
			return err
		}
		least = max(least, share*float64(best))
	}
	m.sums.drop(least - float64(left))
	if len(words) == 0 {
		return nil
	}
	if err := m.lookUp(ctx, words, m.sums); err != nil {
		return err
	}
	m.sums.drop(least)
	return nil
}

// best gives the weight of a good memory among those found so far, in all words.
func (m *searcher) best(ctx context.Context, words []memory.Word) (int64, error) {
	type leader struct {
		place
		sum int64
	}
	var leaders []leader
	var bar int64
	m.sums.each(func(p place, sum int64) {
		if sum <= bar || !m.admits(p) {
			return
		}
		leaders = append(leaders, leader{p, sum})
		if len(leaders) == 2*champions {
			slices.SortFunc(leaders, func(a, b leader) int { return cmp.Compare(b.sum, a.sum) })
			leaders = leaders[:champions]
			bar = leaders[champions-1].sum
		}
	})
	full := sums{}
	for _, l := range leaders {
		*full.at(l.place) = l.sum
	}
	if err := m.lookUp(ctx, words, full); err != nil {
		return 0, err
	}
	best := int64(0)
	full.each(func(_ place, sum int64) { best = max(best, sum) })
	return best, nil
}

// read adds the weights of words to the sums of all memories that have them.
func (m *searcher) read(ctx context.Context, words []memory.Word) error {
	return m.postings(ctx, postingLists, func(space int32, word int, seqs []int32) {
		weight := words[word].Weight
		for _, seq := range seqs {
			if sum := m.sums.at(place{space, seq}); *sum != inadmissible {
				*sum += weight
			}
		}
	}, m.search.Spaces, m.hashesOf(words))
}

// lookUp adds the weights of words to the sums that are there, one by one or, when these are many, by reading all.
func (m *searcher) lookUp(ctx context.Context, words []memory.Word, to sums) error {
	add := func(space int32, word int, seqs []int32) {
		of := to[space]
		for _, seq := range seqs {
			if int(seq) < len(of) && of[seq] > 0 {
				of[seq] += words[word].Weight
			}
		}
	}
	postings, n := 0, 0
	for _, w := range words {
		postings += w.DF
	}
	bySpace := map[int32][]int32{}
	to.each(func(p place, _ int64) {
		bySpace[p.space] = append(bySpace[p.space], p.seq)
		n++
	})
	if n*len(words)*lookupCost > postings {
		return m.postings(ctx, postingLists, add, m.search.Spaces, m.hashesOf(words))
	}
	for space, seqs := range bySpace {
		if err := m.postings(ctx, postingsAmong, add, []int32{space}, m.hashesOf(words), seqs); err != nil {
			return err
		}
	}
	return nil
}

func (m *searcher) hashesOf(words []memory.Word) []int64 {
	out := make([]int64, len(words))
	for i, w := range words {
		out[i] = m.keys.Hash64(termDomain, w.Term)
	}
	return out
}

// postings calls fn with each posting list and the position of its term.
func (m *searcher) postings(ctx context.Context, sql string, fn func(space int32, term int, seqs []int32), args ...any) error {
	rows, err := m.tx.Query(ctx, sql, append([]any{m.org}, args...)...)
	if err != nil {
		return err
	}
	var space int32
	var ordinal int64
	var seqs numbers
	_, err = pgx.ForEachRow(rows, []any{&space, &ordinal, &seqs}, func() error {
		fn(space, int(ordinal-1), seqs)
		return nil
	})
	return err
}

// compare finds the cosine of the query's vector with each admitted memory's.
func (m *searcher) compare(ctx context.Context) error {
	if !m.search.ByVector() {
		return nil
	}
	rows, err := m.tx.Query(ctx, cosines, m.org, m.search.Spaces, m.search.Model, pgvector.NewHalfVector(m.search.Vector))
	if err != nil {
		return err
	}
	m.cosines = map[place]float64{}
	var p place
	var cosine float64
	_, err = pgx.ForEachRow(rows, []any{&p.space, &p.seq, &cosine}, func() error {
		if m.admits(p) {
			m.cosines[p] = cosine
		}
		return nil
	})
	return err
}

// evidence is a memory's as Search.Near wants it.
func (m *searcher) evidence(p place) memory.Evidence {
	e := memory.Evidence{Matched: m.sums.of(p)}
	if cosine, ok := m.cosines[p]; ok {
		e.Cosine = &cosine
	}
	return e
}

// rank looks up the memories that are near enough to the query and brings the best.
func (m *searcher) rank(ctx context.Context) ([]memory.Candidate, error) {
	q := rankQuery{Search: m.search, org: m.org, distance: m.admitted, all: m.search.Browse && m.admitted == nil}
	if !q.all {
		q.relevance = m.relevance()
		if len(q.relevance) == 0 {
			return nil, nil
		}
	}
	sql, args := q.build()
	rows, err := m.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Candidate, error) {
		var c memory.Candidate
		var p place
		err := row.Scan(&p.space, &p.seq, &c.ID, &c.Handle, &c.Kind, &c.ConfirmedAt, &c.Citations, &c.IgnoredBy, &c.Doubted, &c.Unreviewed)
		c.ConfirmedAt = c.ConfirmedAt.UTC()
		c.Evidence, c.Distance = m.evidence(p), m.admitted[p]
		return c, err
	})
}

// relevance gives the promising memories: those above their floor and, unless kinds are still to be sorted out, within
// reach of the best.
func (m *searcher) relevance() map[place]float64 {
	out := map[place]float64{}
	if m.search.Browse {
		for p := range m.admitted {
			out[p] = 1
		}
		return out
	}
	best := 0.0
	near := func(p place) {
		if relevance, ok := m.search.Near(m.evidence(p)); ok {
			out[p] = relevance
			best = max(best, relevance)
		}
	}
	m.sums.each(func(p place, _ int64) {
		if m.admits(p) {
			near(p)
		}
	})
	for p := range m.cosines {
		near(p) // a second time gives the same
	}
	if len(m.search.Narrow.Kinds) == 0 {
		maps.DeleteFunc(out, func(_ place, r float64) bool { return r < m.search.Ranking.BestShare*best })
	}
	return out
}

// Unindexed counts live memories without a vector.
func (v *view) Unindexed(ctx context.Context, spaces []int32, model string, at time.Time) (int, error) {
	var n int
	err := v.tx.QueryRow(ctx, `
		SELECT count(*)::int FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND (m.expires_at IS NULL OR m.expires_at > $4)
		  AND NOT EXISTS (SELECT FROM vectors x WHERE x.org_id = $1 AND x.model = $3 AND x.space_id = m.space_id AND x.seq = m.seq)`,
		v.org, spaces, model, at).Scan(&n)
	return n, err
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

// Linking gives the live memories whose text links to one of the names.
func (v *view) Linking(ctx context.Context, spaces []int32, names []string, limit int) ([]uuid.UUID, error) {
	hashes := make([][]byte, len(names))
	for i, n := range names {
		hashes[i] = v.linkHash(n)
	}
	rows, err := v.tx.Query(ctx, `
		SELECT m.memory_id FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live'
		  AND m.memory_id IN (SELECT l.memory_id FROM links l WHERE l.org_id = $1 AND l.target_hash = ANY ($3))
		ORDER BY m.confirmed_at DESC, m.handle LIMIT $4`, v.org, spaces, hashes, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// numbers is an int4[] read from its binary form, which costs a tenth of the general way: posting lists are long.
type numbers []int32

// DecodeBinary reads the array: number of dimensions, flags, element type, then length and first index of the one
// dimension, then each element behind its length (PostgreSQL, array_send).
func (n *numbers) DecodeBinary(src []byte) error {
	*n = (*n)[:0]
	const header, element = 20, 8
	if len(src) < header {
		return nil // an empty array has no dimension
	}
	count := int(binary.BigEndian.Uint32(src[12:]))
	if len(src) != header+count*element {
		return fmt.Errorf("an array of %d numbers without nulls has %d bytes, not %d", count, header+count*element, len(src))
	}
	for at := header; at < len(src); at += element {
		*n = append(*n, int32(binary.BigEndian.Uint32(src[at+4:]))) //nolint:gosec // the bits of an int4
	}
	return nil
}
