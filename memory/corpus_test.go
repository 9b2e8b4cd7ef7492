package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// loaded is a large project, put into the database the fast way, and the same memories as records for a full scan.
type loaded struct {
	*world
	records  []memory.Record
	spaces   []int32 // that the world's caller sees
	elements []memory.Element
	words    []string // the vocabulary, most common first
	random   *rand.Rand
}

// load fills the world's spaces with n memories of mixed kinds, ages, standing and status. The words of their texts have
// the frequencies of a language (Zipf's law over 20,000), so that some are in a third of all memories and most in few.
func load(t testing.TB, n int, seed uint64) *loaded {
	t.Helper()
	return newWorld(t, nil).load(n, seed)
}

func (w *world) load(n int, seed uint64) *loaded {
	t := w.t
	t.Helper()
	l := &loaded{world: w, random: rand.New(rand.NewPCG(seed, 1))}
	for i := range 20_000 {
		l.words = append(l.words, pseudoWord(i))
	}
	ctx := context.Background()
	// A write to each space makes it.
	for _, scope := range []memory.Scope{memory.Project, memory.Organization, memory.Personal} {
		r := l.remember(memory.RememberRequest{Content: "first of " + string(scope), Scope: scope})
		_, err := l.Forget(ctx, l.c, memory.ForgetRequest{Memory: r.Memory.Handle})
		l.must(err)
	}
	other := l.c
	other.User = "u2"
	_, err := l.Remember(ctx, other, memory.RememberRequest{Content: "first of another person", Scope: memory.Personal})
	l.must(err)

	admin := l.h.database.ConnectAdmin(t)
	b := bulk{loaded: l, conn: admin, keys: l.keys(ctx, admin), hashes: map[string]int64{}}
	b.readSpaces(ctx)
	for i := range n {
		b.add(i)
	}
	b.copy(ctx)
	return l
}

// pseudoWord is a distinct word that no stop list knows and no stemmer changes.
func pseudoWord(i int) string {
	var b strings.Builder
	for range 4 {
		b.WriteByte("bdfgklmnprtvz"[i%13])
		b.WriteByte("aou"[i/13%3])
		i /= 39
	}
	return b.String() + "k"
}

func (l *loaded) word() string {
	// The ten most common would be stop words.
	const skipped = 10
	return l.words[int(math.Exp(math.Log(skipped)+l.random.Float64()*math.Log(float64(len(l.words))/skipped)))-skipped]
}

func (l *loaded) sentence(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = l.word()
	}
	return strings.Join(words, " ")
}

func (l *loaded) keys(ctx context.Context, conn *pgx.Conn) *secret.Keys {
	var w secret.Wrapped
	l.must(conn.QueryRow(ctx, `SELECT master_key_id, data_keyset, index_keyset FROM organizations WHERE org_id = $1`, l.c.Org).
		Scan(&w.MasterKeyID, &w.Data, &w.Index))
	keys, err := l.h.master.OpenKeys(l.c.Org, w)
	l.must(err)
	return keys
}

// bulk collects rows for COPY, which row-level security leaves to the superuser.
type bulk struct {
	*loaded
	conn   *pgx.Conn
	keys   *secret.Keys
	hashes map[string]int64
	places []memory.Space
	seqs   map[int32]int32
	live   map[int32]int

	memories, versions, attachments, terms [][]any
}

func (b *bulk) readSpaces(ctx context.Context) {
	rows, err := b.conn.Query(ctx, `SELECT space_id, scope, owner, next_seq, live FROM spaces WHERE org_id = $1 ORDER BY space_id`, b.c.Org)
	b.must(err)
	b.seqs, b.live = map[int32]int32{}, map[int32]int{}
	for rows.Next() {
		var s memory.Space
		var next int32
		b.must(rows.Scan(&s.ID, &s.Scope, &s.Owner, &next, &s.Live))
		b.places = append(b.places, s)
		b.seqs[s.ID], b.live[s.ID] = next, s.Live
		if s.Scope != memory.Personal || s.Owner == b.c.User {
			b.spaces = append(b.spaces, s.ID)
		}
	}
	b.must(rows.Err())
	b.must(b.h.store.View(ctx, b.c.Org, func(v memory.View) error {
		var err error
		b.elements, err = v.Elements(ctx, b.c.Project, false)
		return err
	}))
}

// space picks mostly the project.
func (b *bulk) space() memory.Space {
	if b.random.IntN(10) > 0 {
		for _, s := range b.places {
			if s.Scope == memory.Project {
				return s
			}
		}
	}
	return b.places[b.random.IntN(len(b.places))]
}

func (b *bulk) add(i int) {
	r := b.random
	space := b.space()
	age := time.Duration(r.ExpFloat64()*120*24) * time.Hour
	rec := memory.Record{Space: space.ID, Seq: b.seqs[space.ID], ProjectID: b.c.Project, User: "u1", Citations: 0}
	rec.Memory = memory.Memory{
		ID: uuid.Must(uuid.NewV7()), Handle: fmt.Sprintf("m-%s", base32Number(i)), Kind: memory.Kinds[r.IntN(4)], Scope: space.Scope,
		Status: memory.Live, Content: b.sentence(8 + r.IntN(20)), Origin: memory.FromMCP, Author: "u1", Revision: 1,
		CreatedAt: b.now.Add(-age), ConfirmedAt: b.now.Add(-age), Elements: []memory.ElementRef{}, Paths: []string{}, Tags: []string{},
	}
	b.seqs[space.ID]++
	if r.IntN(3) == 0 {
		rec.Title = b.sentence(3) + " " + base32Number(i)
	}
	if r.IntN(3) == 0 {
		rec.Tags = []string{"tag" + fmt.Sprint(r.IntN(5))}
	}
	if r.IntN(5) == 0 {
		rec.Citations = r.IntN(30)
	}
	if r.IntN(10) == 0 {
		rec.IgnoredBy = r.IntN(10)
	}
	rec.Verify, rec.Disputed, rec.Unreviewed = r.IntN(12) == 0, r.IntN(20) == 0, r.IntN(15) == 0
	if r.IntN(100) == 0 {
		at := b.now.Add(time.Duration(r.IntN(200)-100) * time.Hour)
		rec.ExpiresAt = &at
	}
	if r.IntN(30) == 0 {
		rec.Status = memory.Retired
	}
	if r.IntN(2) == 0 {
		e := b.elements[r.IntN(len(b.elements))]
		rec.Elements = append(rec.Elements, e.Ref())
		b.attachments = append(b.attachments, []any{b.c.Org, rec.ID, e.ID, rec.CreatedAt, "writer"})
	}
	b.rows(&rec)
	b.records = append(b.records, rec)
}

func (b *bulk) rows(r *memory.Record) {
	body, err := json.Marshal(map[string]any{"t": r.Title, "c": r.Content, "g": r.Tags})
	b.must(err)
	sealed, err := b.keys.Seal(secret.Location{Table: "memory_versions", Column: "body", Row: secret.Row(r.ID, 1)}, body)
	b.must(err)
	b.versions = append(b.versions, []any{b.c.Org, r.ID, 1, sealed, r.CreatedAt, "u1"})
	ix := memory.IndexTerms(r.Memory)
	b.memories = append(b.memories, []any{b.c.Org, r.ID, r.Space, r.Seq, b.c.Project, r.Handle, string(r.Kind), string(r.Status), "u1", "mcp",
		r.Unreviewed, r.CreatedAt, r.ConfirmedAt, r.Revision, r.ExpiresAt, []byte(r.Handle), len(ix.Terms), r.Verify, r.Disputed, r.Citations, r.IgnoredBy})
	if r.Status != memory.Live {
		return
	}
	b.live[r.Space]++
	terms := b.hash("term", ix.Terms)
	tags := b.hash("tag", ix.Tags)
	b.terms = append(b.terms, []any{b.c.Org, r.Space, r.Seq, terms, tags})
}

func (b *bulk) hash(domain string, texts []string) []int64 {
	out := make([]int64, len(texts))
	for i, t := range texts {
		h, ok := b.hashes[domain+":"+t]
		if !ok {
			h = b.keys.Hash64(domain, t)
			b.hashes[domain+":"+t] = h
		}
		out[i] = h
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (b *bulk) copy(ctx context.Context) {
	for _, t := range []struct {
		name    string
		columns string
		rows    [][]any
	}{
		{"memories", "org_id memory_id space_id seq project_id handle kind status user_name origin unreviewed created_at confirmed_at revision expires_at text_hash term_count verify disputed citations ignored_by", b.memories},
		{"memory_versions", "org_id memory_id revision body recorded_at user_name", b.versions},
		{"attachments", "org_id memory_id element_id attached_at reason", b.attachments},
		{"memory_terms", "org_id space_id seq terms tags", b.terms},
	} {
		_, err := b.conn.CopyFrom(ctx, pgx.Identifier{t.name}, strings.Fields(t.columns), pgx.CopyFromRows(t.rows))
		b.must(err)
	}
	_, err := b.conn.Exec(ctx, `DELETE FROM posting_blocks WHERE org_id = $1`, b.c.Org)
	b.must(err)
	_, err = b.conn.Exec(ctx, `
		INSERT INTO posting_blocks (org_id, space_id, term, upto, df, seqs)
		SELECT $1, space_id, term, CASE WHEN last THEN 2147483647 ELSE max(seq) END, CASE WHEN last THEN df ELSE 0 END, array_agg(seq)
		FROM (SELECT space_id, term, seq, df, n / 100 AS block, (n / 100 + 1) * 100 >= df AS last FROM (
			SELECT m.space_id, t.term, m.seq, count(*) OVER w AS df, row_number() OVER (w ORDER BY m.seq) - 1 AS n
			FROM memory_terms m CROSS JOIN LATERAL unnest(m.terms || m.tags) AS t (term) WHERE m.org_id = $1
			WINDOW w AS (PARTITION BY m.space_id, t.term)) n) b
		GROUP BY space_id, term, block, last, df`, b.c.Org)
	b.must(err)
	for _, s := range b.places {
		_, err = b.conn.Exec(ctx, `UPDATE spaces SET next_seq = $3, live = $4 WHERE org_id = $1 AND space_id = $2`, b.c.Org, s.ID, b.seqs[s.ID], b.live[s.ID])
		b.must(err)
	}
	_, err = b.conn.Exec(ctx, `VACUUM (ANALYZE) memories, memory_versions, attachments, posting_blocks, memory_terms`)
	b.must(err)
}

// base32Number is a number as seven characters of a handle.
func base32Number(i int) string {
	const digits = "abcdefghijklmnopqrstuvwxyz234567"
	out := make([]byte, 7)
	for p := range out {
		out[len(out)-1-p] = digits[i%32]
		i /= 32
	}
	return string(out)
}
