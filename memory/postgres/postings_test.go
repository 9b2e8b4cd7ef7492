package postgres

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

// listed is what posting lists have to say: the memories of each term in one space.
type listed struct {
	conn  *pgx.Conn
	org   uuid.UUID
	next  int32
	terms map[int32][]int64 // of each live memory
	past  map[int32]bool    // numbers of memories that are not live
	sent  pgx.Batch
}

// newListed begins with an organization that has nothing.
func newListed(t failer, conn *pgx.Conn) *listed {
	t.Helper()
	x := &listed{conn: conn, org: uuid.New(), next: 1, terms: map[int32][]int64{}, past: map[int32]bool{}}
	if _, err := conn.Exec(context.Background(), `INSERT INTO organizations (org_id, name, created_at, master_key_id, data_keyset, index_keyset)
		VALUES ($1, 'o', now(), '', '', '')`, x.org); err != nil {
		t.Fatal(err)
	}
	return x
}

// Whatever enters, leaves and comes back in whatever order: lists are those of the live memories, every number is in the block where readers
// look for it, no block is empty or too long, and counts are right.
func TestBlocksAreTheListsOfLiveMemories(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	conn := planned(t, d)
	rapid.Check(t, func(t *rapid.T) {
		x := newListed(t, conn)
		// Many memories in few steps: what they have in common is decided by a draw of its own.
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				x.add(random, rapid.SampledFrom([]int{1, 2, 16, 150, 500}).Draw(t, "memories"))
			},
			"remove": func(t *rapid.T) {
				x.remove(random, rapid.SampledFrom([]int{1, 5, 60}).Draw(t, "memories"))
			},
			"remove the oldest": func(*rapid.T) {
				live := slices.Sorted(maps.Keys(x.terms))
				for _, seq := range live[:min(len(live), blockSize+2)] {
					x.leave(seq)
				}
			},
			"come back": func(*rapid.T) {
				gone := slices.Sorted(maps.Keys(x.past))
				random.Shuffle(len(gone), func(i, j int) { gone[i], gone[j] = gone[j], gone[i] })
				for _, seq := range gone[:min(len(gone), 40)] {
					x.enter(seq, termsOf(random))
				}
			},
			"": func(t *rapid.T) { x.compare(t) },
		})
	})
}

// A term that old memories get one after the other, from the newest to the oldest or in any order, has blocks of bounded length.
func TestBlocksOfOldMemoriesAreSplit(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	conn := planned(t, d)
	for _, order := range []string{"newest first", "oldest first", "any"} {
		x := newListed(t, conn)
		const n = 5 * blockSize
		x.next = n + 1
		seqs := rand.New(rand.NewPCG(1, 1)).Perm(n)
		switch order {
		case "newest first":
			slices.SortFunc(seqs, func(a, b int) int { return b - a })
		case "oldest first":
			slices.Sort(seqs)
		}
		for _, seq := range seqs {
			x.past[int32(seq+1)] = true
			x.enter(int32(seq+1), []int64{7})
		}
		x.compare(t)
		var blocks, longest int
		if err := conn.QueryRow(t.Context(), `SELECT count(*), max(cardinality(seqs)) FROM posting_blocks WHERE org_id = $1`, x.org).Scan(&blocks, &longest); err != nil {
			t.Fatal(err)
		}
		if longest > blockSize+1 || blocks > 2*n/blockSize+1 {
			t.Errorf("%s: %d blocks, the longest of %d", order, blocks, longest)
		}
	}
}

// planned is a connection that plans as writes do.
func planned(t *testing.T, d pgtest.Database) *pgx.Conn {
	t.Helper()
	conn := d.ConnectAdmin(t)
	if _, err := conn.Exec(t.Context(), strings.ReplaceAll(writePlans, ", true)", ", false)")); err != nil {
		t.Fatal(err)
	}
	return conn
}

// termsOf draws the terms of a memory: some that most have, some that few have.
func termsOf(random *rand.Rand) []int64 {
	out := []int64{}
	for term := range int64(6) {
		if random.IntN(1<<term) == 0 {
			out = append(out, term-3)
		}
	}
	return append(out, 100+random.Int64N(50))
}

type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// send stores what was queued.
func (x *listed) send(t failer) {
	t.Helper()
	if x.sent.Len() == 0 {
		return
	}
	b := x.sent
	x.sent = pgx.Batch{}
	if err := x.conn.SendBatch(context.Background(), &b).Close(); err != nil {
		t.Fatal(err)
	}
}

func (x *listed) add(random *rand.Rand, n int) {
	var postings []posting
	for range n {
		x.terms[x.next] = termsOf(random)
		for _, term := range x.terms[x.next] {
			postings = append(postings, posting{1, term, x.next})
		}
		x.next++
	}
	random.Shuffle(len(postings), func(i, j int) { postings[i], postings[j] = postings[j], postings[i] })
	queuePostings(&x.sent, x.org, append(postings, postings[0])) // a tag may have the hash of a word
}

func (x *listed) leave(seq int32) {
	queueRemoval(&x.sent, x.org, 1, seq, distinct(x.terms[seq], nil))
	delete(x.terms, seq)
	x.past[seq] = true
}

func (x *listed) remove(random *rand.Rand, n int) {
	live := slices.Sorted(maps.Keys(x.terms))
	random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	for _, seq := range live[:min(len(live), n)] {
		x.leave(seq)
	}
}

func (x *listed) enter(seq int32, terms []int64) {
	queueReentry(&x.sent, x.org, 1, seq, distinct(terms, terms[:1]))
	x.terms[seq] = terms
	delete(x.past, seq)
}

// compare compares the table with what there is.
func (x *listed) compare(t failer) {
	t.Helper()
	x.send(t)
	ctx := context.Background()
	want := map[int64][]int32{}
	for seq, terms := range x.terms {
		for _, term := range terms {
			want[term] = append(want[term], seq)
		}
	}
	rows, err := x.conn.Query(ctx, `SELECT term, upto, df, seqs FROM posting_blocks WHERE org_id = $1 AND space_id = 1 ORDER BY term, upto`, x.org)
	if err != nil {
		t.Fatal(err)
	}
	got, df := map[int64][]int32{}, map[int64]int{}
	var term, last int64
	var upto, below int32
	var count int
	var seqs []int32
	if _, err := pgx.ForEachRow(rows, []any{&term, &upto, &count, &seqs}, func() error {
		if term != last {
			last, below = term, 0
		}
		for _, seq := range seqs {
			if seq <= below || seq > upto {
				return fmt.Errorf("%d of term %d is in the block from %d to %d", seq, term, below, upto)
			}
		}
		switch {
		case upto == openBlock:
			df[term] = count
		case len(seqs) == 0 || count != 0:
			return fmt.Errorf("block up to %d of term %d has %d numbers and counts %d", upto, term, len(seqs), count)
		}
		got[term] = append(got[term], seqs...)
		below = upto
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(df) != len(want) || len(got) != len(want) {
		t.Fatalf("%d terms have a last block, %d have blocks, there are %d", len(df), len(got), len(want))
	}
	for term, seqs := range want {
		slices.Sort(seqs)
		slices.Sort(got[term])
		if !slices.Equal(seqs, got[term]) || df[term] != len(seqs) {
			t.Fatalf("term %d has %v and counts %d, want %v", term, got[term], df[term], seqs)
		}
	}
	x.lookUp(t, want)
}

// lookUp asks as readers do for some memories.
func (x *listed) lookUp(t failer, want map[int64][]int32) {
	t.Helper()
	var spaces, seqs []int32
	for seq := int32(1); seq < x.next; seq += 1 + x.next/50 {
		spaces, seqs = append(spaces, 1), append(seqs, seq)
	}
	terms := slices.Sorted(maps.Keys(want))
	rows, err := x.conn.Query(context.Background(), postingsAmong, x.org, spaces, terms, seqs)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64][]int32{}
	var space int32
	var ordinal int64
	var found []int32
	if _, err := pgx.ForEachRow(rows, []any{&space, &ordinal, &found}, func() error {
		slices.Sort(found)
		got[terms[ordinal-1]] = slices.Clone(found)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, term := range terms {
		have := slices.DeleteFunc(slices.Clone(want[term]), func(seq int32) bool { return !slices.Contains(seqs, seq) })
		if !slices.Equal(got[term], have) {
			t.Fatalf("term %d among %v: %v, want %v", term, seqs, got[term], have)
		}
	}
}
