package postgres

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// postingLists gives for each space and word the memories that have it, a block a row: one range of the primary key for each.
// Adding up in the program instead of in SQL took a tenth of the time (58,000 postings: 18 ms against 190).
const postingLists = `
	SELECT s.space_id, w.ordinal, p.seqs
	FROM unnest($2::int[]) AS s (space_id)
	CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL (
		SELECT seqs FROM posting_blocks WHERE org_id = $1 AND space_id = s.space_id AND term = w.term OFFSET 0) p`

// postingsAmong is postingLists for some memories only, each looked up in the block of its number.
var postingsAmong = `
	SELECT c.space_id, w.ordinal, array_agg(c.seq)
	FROM unnest($2::int[], $4::int[]) AS c (space_id, seq)
	CROSS JOIN unnest($3::bigint[]) WITH ORDINALITY AS w (term, ordinal)
	CROSS JOIN LATERAL ` + blockOf("seqs", "c.space_id", "w.term", "c.seq") + ` p
	WHERE c.seq = ANY (p.seqs)
	GROUP BY c.space_id, w.ordinal`

// sums holds a weight for each memory by its number: numbers are dense, and an array is ten times a map.
type sums map[int32][]int64

// inadmissible marks a memory whose weight does not matter.
const inadmissible = -1

// upTo gives the weights of a space, as far as the number at least.
func (s sums) upTo(space, last int32) []int64 {
	of := s[space]
	if int(last) >= len(of) {
		of = append(of, make([]int64, int(last)+1-len(of))...)
		s[space] = of
	}
	return of
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
				fn(place{space, int32(seq)}, sum)
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

// slack keeps rounding from ever excluding a result: sums are whole numbers, but shares of them are not.
const slack = 1 - 1e-9

const (
	// lookupCost is what looking one memory up costs in postings read in a row; measured between 10 and 20.
	lookupCost = 16
	// chunk is how many postings are read at once without asking whether they are still needed: about a millisecond.
	chunk = 4096
	// champions are looked up early to learn how good the best is.
	champions = 64
)

// match adds up the weight of the query's words in each memory.
//
// It leaves out what cannot be a result, and nothing else (the idea of MaxScore). Words are read from the rarest on. least
// is the least weight of a result as far as is known: the floor's share of all words, and Share of the best memory
// seen. Once the words that are left weigh less than that together, a memory that has only those is no result, so their
// postings, which are nearly all there are, need not be read: they are looked up for the memories that may still get
// there. To know the best early, the leaders of each round are looked up in the words that are left.
func (m *searcher) match(ctx context.Context) error {
	words := m.search.Words.Terms
	for space, e := range m.expired {
		of := m.sums.upTo(space, e.seqs[len(e.seqs)-1])
		for _, seq := range e.seqs {
			of[seq] = inadmissible
		}
	}
	if m.search.ByVector() {
		// Meaning may lift a memory with the least of words, so every one counts.
		return m.read(ctx, words)
	}
	least := m.search.Ranking.LexicalFloor * float64(m.search.Words.All) * slack
	share := m.search.Share() * slack
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
	var some []place
	m.sums.each(func(p place, _ int64) { some = append(some, p) })
	if err := m.lookUp(ctx, words, some, func(space int32, weight int64, seqs []int32) {
		of := m.sums[space]
		for _, seq := range seqs {
			if int(seq) < len(of) && of[seq] > 0 {
				of[seq] += weight
			}
		}
	}); err != nil {
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
	full := make(map[place]int64, len(leaders))
	places := make([]place, len(leaders))
	for i, l := range leaders {
		full[l.place], places[i] = l.sum, l.place
	}
	err := m.lookUp(ctx, words, places, func(space int32, weight int64, seqs []int32) {
		for _, seq := range seqs {
			if sum, ok := full[place{space, seq}]; ok {
				full[place{space, seq}] = sum + weight
			}
		}
	})
	best := int64(0)
	for _, sum := range full {
		best = max(best, sum)
	}
	return best, err
}

// read adds the weights of words to the sums of all memories that have them.
func (m *searcher) read(ctx context.Context, words []memory.Word) error {
	return m.postings(ctx, postingLists, func(space int32, word int, seqs []int32) {
		of := m.sums.upTo(space, slices.Max(seqs))
		weight := words[word].Weight
		for _, seq := range seqs {
			if of[seq] != inadmissible {
				of[seq] += weight
			}
		}
	}, m.search.Spaces, m.hashesOf(words))
}

// lookUp calls add with the weight of each word and memories of a space that have it: those of the places, found one by
// one, or, when these are many, all.
func (m *searcher) lookUp(ctx context.Context, words []memory.Word, places []place, add func(space int32, weight int64, seqs []int32)) error {
	if len(places) == 0 {
		return nil
	}
	each := func(space int32, word int, seqs []int32) { add(space, words[word].Weight, seqs) }
	postings := 0
	for _, w := range words {
		postings += w.DF
	}
	if len(places)*len(words)*lookupCost > postings {
		return m.postings(ctx, postingLists, each, m.search.Spaces, m.hashesOf(words))
	}
	spaces, seqs := make([]int32, len(places)), make([]int32, len(places))
	for i, p := range places {
		spaces[i], seqs[i] = p.space, p.seq
	}
	return m.postings(ctx, postingsAmong, each, spaces, m.hashesOf(words), seqs)
}

func (m *searcher) hashesOf(words []memory.Word) []int64 {
	out := make([]int64, len(words))
	for i, w := range words {
		out[i] = m.keys.Hash64(termDomain, w.Term)
	}
	return out
}

// postings calls fn with the numbers of each row, of which there is at least one, and the position of their term.
func (m *searcher) postings(ctx context.Context, sql string, fn func(space int32, term int, seqs []int32), args ...any) error {
	rows, err := m.tx.Query(ctx, sql, append([]any{m.org}, args...)...)
	if err != nil {
		return err
	}
	var space int32
	var ordinal int64
	var seqs []int32
	_, err = pgx.ForEachRow(rows, []any{&space, &ordinal, nil}, func() error {
		var err error
		if seqs, err = appendNumbers(seqs[:0], rows.RawValues()[2]); err != nil || len(seqs) == 0 {
			return err
		}
		fn(space, int(ordinal-1), seqs)
		return nil
	})
	return err
}

// appendNumbers reads an int4[] or int8[] in its binary form, which costs a tenth of the general way: posting lists are long.
// The form (PostgreSQL, array_send) is: number of dimensions, flags, element type, length and first index of the one
// dimension, then each element behind its length.
func appendNumbers[N int32 | int64](to []N, raw []byte) ([]N, error) {
	const header = 20
	if len(raw) < header {
		return to, nil // an empty array has no dimension
	}
	size := binary.Size(N(0))
	count := int(binary.BigEndian.Uint32(raw[12:]))
	if len(raw) != header+count*(4+size) {
		return nil, fmt.Errorf("an array of %d numbers of %d bytes without nulls has %d bytes, not %d", count, size, header+count*(4+size), len(raw))
	}
	for at := header + 4; at < len(raw); at += 4 + size {
		if size == 4 {
			to = append(to, N(int32(binary.BigEndian.Uint32(raw[at:])))) //nolint:gosec // the bits of an int4
		} else {
			to = append(to, N(int64(binary.BigEndian.Uint64(raw[at:])))) //nolint:gosec // the bits of an int8
		}
	}
	return to, nil
}
