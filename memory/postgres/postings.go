package postgres

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The index of words: for each term of a space the list of memories that have it, by their numbers, in blocks of the table posting_blocks.
//
// A block holds the numbers above those of the block before it and up to its own bound (upto). The last block of a list is open: its bound
// is openBlock, and it counts the whole list (df), which is what idf is made of. New memories have the highest numbers of their space, so
// what is written is one row for each term, the open block, however many memories have it; a block that has grown is split. A memory that
// comes back with its old number goes where that number belongs.
//
// A transaction that writes blocks holds their space, so nobody splits what another appends to.

const (
	// blockSize is how many numbers a block has that is left alone. Half of it is what the write of a common term copies on average, 256 bytes,
	// and a term that few memories have takes one row.
	blockSize = 128
	// openBlock is the bound of the block that a list ends with.
	openBlock = math.MaxInt32
	// splitEvery is how many memories are stored for one whose terms' blocks are looked at whether they have grown. How far a block grows
	// until somebody looks, by that many on average, does not depend on how common its term is.
	splitEvery = 16
)

// blockOf is the block where a number belongs, as a condition on posting_blocks under the alias and all there is to know about the row.
// It is for FROM behind LATERAL; LIMIT keeps it a lookup by key.
func blockOf(columns, space, term, seq string) string {
	return fmt.Sprintf(`(SELECT %s FROM posting_blocks WHERE org_id = $1 AND space_id = %s AND term = %s AND upto >= %s ORDER BY upto LIMIT 1)`, columns, space, term, seq)
}

// appendPostings adds numbers above all others to lists. $5 and $6 say which of $7 are those of a list.
const appendPostings = `
	INSERT INTO posting_blocks AS b (org_id, space_id, term, upto, df, seqs)
	SELECT o.org_id, w.space, w.term, 2147483647, w.last - w.first, ($6::int[])[w.first + 1 : w.last]
	FROM organizations o CROSS JOIN unnest($2::int[], $3::bigint[], $4::int[], $5::int[]) AS w (space, term, first, last) WHERE o.org_id = $1
	ON CONFLICT (org_id, space_id, term, upto) DO UPDATE SET df = b.df + excluded.df, seqs = excluded.seqs || b.seqs`

// splitBlocks halves each block of the number $4 that has more than $5 numbers: the lower half gets a block of its own. Of the open block it is
// all, since what comes is higher. shrinkBlocks has to follow.
var splitBlocks = `
	INSERT INTO posting_blocks (org_id, space_id, term, upto, seqs)
	SELECT b.org_id, w.space, w.term, max(e.seq), array_agg(e.seq ORDER BY e.seq DESC)
	FROM unnest($2::int[], $3::bigint[]) AS w (space, term)
	CROSS JOIN LATERAL (SELECT org_id, seqs, CASE WHEN upto = 2147483647 THEN cardinality(seqs) ELSE cardinality(seqs) / 2 END AS lower
		FROM ` + blockOf("org_id, upto, seqs", "w.space", "w.term", "$4::int") + ` b WHERE cardinality(seqs) > $5 OFFSET 0) b
	CROSS JOIN LATERAL (SELECT seq FROM unnest(b.seqs) AS seq ORDER BY seq LIMIT b.lower) e
	GROUP BY b.org_id, w.space, w.term`

// shrinkBlocks takes from blocks what splitBlocks gave others: the block of the number $4 is now the lower half, or still the upper, and the
// upper one has the bound of the lower among its numbers.
const shrinkBlocks = `
	UPDATE posting_blocks AS b SET seqs = ARRAY(SELECT seq FROM unnest(b.seqs) AS seq WHERE seq > o.upto)
	FROM unnest($2::int[], $3::bigint[]) AS w (space, term)
	CROSS JOIN LATERAL (SELECT upto FROM posting_blocks WHERE org_id = $1 AND space_id = w.space AND term = w.term AND upto >= $4::int ORDER BY upto LIMIT 2) f
	CROSS JOIN LATERAL (SELECT upto FROM posting_blocks WHERE org_id = $1 AND space_id = w.space AND term = w.term AND upto < f.upto ORDER BY upto DESC LIMIT 1) o
	WHERE b.org_id = $1 AND b.space_id = w.space AND b.term = w.term AND b.upto = f.upto AND o.upto = ANY (b.seqs)`

// What follows is about one memory, $4, and the terms $3 in space $2.
var (
	// countPostings counts it in, and begins the lists of new terms.
	countPostings = `
		INSERT INTO posting_blocks AS b (org_id, space_id, term, upto, df, seqs) SELECT o.org_id, $2, term, 2147483647, 1, '{}'
		FROM organizations o CROSS JOIN unnest($3::bigint[]) AS term WHERE o.org_id = $1
		ON CONFLICT (org_id, space_id, term, upto) DO UPDATE SET df = b.df + 1`
	// enterBlocks puts it into the blocks of its number.
	enterBlocks = changeBlocks(`UPDATE posting_blocks AS b SET seqs = $4::int || b.seqs`, "FROM", "")
	// leaveBlocks takes it out of them.
	leaveBlocks = changeBlocks(`UPDATE posting_blocks AS b SET seqs = array_remove(b.seqs, $4::int)`, "FROM", "")
	// discountPostings counts it out.
	discountPostings = `UPDATE posting_blocks SET df = df - 1 WHERE org_id = $1 AND space_id = $2 AND term = ANY ($3) AND upto = 2147483647`
	// dropBlocks removes blocks that it left empty, but for the last of a list.
	dropBlocks = changeBlocks(`DELETE FROM posting_blocks AS b`, "USING", ` AND b.upto < 2147483647 AND b.seqs = '{}'`)
	// dropLists removes the lists that it left empty.
	dropLists = `DELETE FROM posting_blocks WHERE org_id = $1 AND space_id = $2 AND term = ANY ($3) AND upto = 2147483647 AND df <= 0`
)

// changeBlocks is a statement about the blocks of $4.
func changeBlocks(change, from, also string) string {
	return change + ` ` + from + ` unnest($3::bigint[]) AS w (term) CROSS JOIN LATERAL ` + blockOf("upto", "$2", "w.term", "$4::int") + ` f
		WHERE b.org_id = $1 AND b.space_id = $2 AND b.term = w.term AND b.upto = f.upto` + also
}

// posting is that a memory has a term.
type posting struct {
	space int32
	term  int64
	seq   int32
}

// queuePostings adds postings of new memories, in any order.
func queuePostings(b *pgx.Batch, org uuid.UUID, postings []posting) {
	// In the order of the keys: pages are filled one after the other, and everybody locks rows in one order.
	slices.SortFunc(postings, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.term, b.term), cmp.Compare(b.seq, a.seq))
	})
	postings = slices.Compact(postings)
	var spaces, first, last []int32 // of a list
	var terms []int64
	seqs := make([]int32, len(postings))
	var look struct {
		spaces []int32
		terms  []int64
	}
	for i, p := range postings {
		seqs[i] = p.seq
		n := len(terms) - 1
		if n < 0 || spaces[n] != p.space || terms[n] != p.term {
			spaces, terms = append(spaces, p.space), append(terms, p.term)
			first, last = append(first, int32(i)), append(last, int32(i))
			n++
		}
		last[n]++
		if k := len(look.terms) - 1; p.seq%splitEvery == 0 && (k < 0 || look.spaces[k] != p.space || look.terms[k] != p.term) {
			look.spaces, look.terms = append(look.spaces, p.space), append(look.terms, p.term)
		}
	}
	b.Queue(appendPostings, org, spaces, terms, first, last, seqs)
	if len(look.terms) > 0 {
		b.Queue(splitBlocks, org, look.spaces, look.terms, openBlock, blockSize)
		b.Queue(shrinkBlocks, org, look.spaces, look.terms, openBlock)
	}
}

// distinct are the terms of one memory that have postings, in the order of the keys.
func distinct(terms, tags []int64) []int64 {
	all := slices.Concat(terms, tags)
	slices.Sort(all)
	return slices.Compact(all)
}

// queueReentry adds the postings of a memory that had its number before.
func queueReentry(b *pgx.Batch, org uuid.UUID, space, seq int32, terms []int64) {
	b.Queue(countPostings, org, space, terms)
	b.Queue(enterBlocks, org, space, terms, seq)
	spaces := slices.Repeat([]int32{space}, len(terms))
	b.Queue(splitBlocks, org, spaces, terms, seq, blockSize)
	b.Queue(shrinkBlocks, org, spaces, terms, seq)
}

// queueRemoval takes the postings of a memory away.
func queueRemoval(b *pgx.Batch, org uuid.UUID, space, seq int32, terms []int64) {
	b.Queue(leaveBlocks, org, space, terms, seq)
	b.Queue(discountPostings, org, space, terms)
	b.Queue(dropBlocks, org, space, terms, seq)
	b.Queue(dropLists, org, space, terms)
}

// buildBlocks makes the blocks of an organization that has none, of memory_terms.
var buildBlocks = strings.ReplaceAll(`
	INSERT INTO posting_blocks (org_id, space_id, term, upto, df, seqs)
	SELECT org_id, space_id, term, CASE WHEN (block + 1) * $size < df THEN max(seq) ELSE 2147483647 END,
		CASE WHEN (block + 1) * $size < df THEN 0 ELSE df END, array_agg(seq ORDER BY seq DESC)
	FROM (
		SELECT org_id, space_id, term, seq, (row_number() OVER (PARTITION BY space_id, term ORDER BY seq) - 1) / $size AS block,
			count(*) OVER (PARTITION BY space_id, term) AS df
		FROM (SELECT DISTINCT m.org_id, m.space_id, t.term, m.seq FROM memory_terms m CROSS JOIN LATERAL unnest(m.terms || m.tags) AS t (term) WHERE m.org_id = $1) d) p
	GROUP BY org_id, space_id, term, block, df`, "$size", fmt.Sprint(blockSize))
