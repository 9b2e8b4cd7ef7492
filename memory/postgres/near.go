package postgres

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// nearText finds equal texts. A range and an order leave no other way than the index of texts, and OFFSET 0 keeps the planner from walking
// the primary key in the order asked for.
const nearText = `SELECT memory_id FROM (
		SELECT memory_id, kind FROM memories WHERE org_id = $1 AND space_id = $2 AND text_hash >= $3 AND text_hash <= $3 AND status = 'live'
		ORDER BY text_hash OFFSET 0) m
	WHERE kind = $4 ORDER BY memory_id LIMIT $5`

// nearVectors compares vectors of one model: every memory of the space and kind, exactly.
var nearVectors = `
	SELECT m.memory_id, v.cosine
	FROM (SELECT seq, 1 - (embedding <=> $5) AS cosine FROM vectors
		WHERE org_id = $1 AND model = $4 AND space_id = $2 AND 1 - (embedding <=> $5) >= $6 OFFSET 0) v
	CROSS JOIN LATERAL ` + bySeq("memory_id", "$2", "v.seq", " AND kind = $3") + ` m
	ORDER BY cosine DESC LIMIT $7`

// nearestVectors is nearVectors among the nearest of the space by the index of the model (see nearest): a write holds its
// space, and comparing all of a large one would let the others wait. What is the same is at the top of any kind.
func nearestVectors(m postgres.VectorModel) string {
	return `
	SELECT m.memory_id, v.cosine
	FROM (` + nearest(m) + `) AS v (space_id, seq, cosine)
	CROSS JOIN LATERAL ` + bySeq("memory_id", "v.space_id", "v.seq", " AND kind = $5") + ` m
	WHERE v.cosine >= $6`
}

// maxNearPostings bounds what one comparison by words reads: a text of common words only would read most of the space,
// under its lock, for advice. Beyond it the commonest of the chosen terms are left out, and with them perhaps a candidate.
const maxNearPostings = 20_000

// nearTerms finds what may share most terms where one side has no vector. A set A that overlaps B by at least j (Jaccard)
// has ⌈j·|A|⌉ terms or more in common with it. So of any |A| − ⌈j·|A|⌉ + m terms of A it has at least m: reading the
// postings of the rarest that many finds every such B, and few others. Sets smaller than j·|A| or larger than |A|/j
// cannot reach j. What these bounds leave is compared in full by the caller.
//
//	rare  the terms that select candidates, rarest first ($5 of them), within the bound on postings ($9)
//	hit   memories with at least m ($10) of them
//
// Every step looks single rows up by key. LATERAL with OFFSET 0 leaves the planner no other way: without statistics, as
// right after an import, it would read the whole space once and filter it for every term, or read all vectors of the space.
var nearTerms = `
	WITH rare AS MATERIALIZED (
		SELECT term FROM (
			SELECT t.term, sum(coalesce(f.df, 0)) OVER (ORDER BY coalesce(f.df, 0), t.term) AS postings
			FROM unnest($4::bigint[]) AS t (term)
			LEFT JOIN LATERAL (
				SELECT df FROM posting_blocks WHERE org_id = $1 AND space_id = $2 AND term = t.term AND upto = 2147483647 OFFSET 0) f ON true
			ORDER BY coalesce(f.df, 0), t.term LIMIT $5) r
		WHERE postings <= $9
	), hit AS MATERIALIZED (
		SELECT e.seq FROM rare r CROSS JOIN LATERAL (
			SELECT seqs FROM posting_blocks WHERE org_id = $1 AND space_id = $2 AND term = r.term OFFSET 0) p
		CROSS JOIN LATERAL unnest(p.seqs) AS e (seq)
		GROUP BY e.seq HAVING count(*) >= $10
	)
	SELECT m.memory_id, mt.terms FROM hit h
	CROSS JOIN LATERAL ` + bySeq("memory_id", "$2", "h.seq", " AND kind = $3 AND term_count BETWEEN $6 AND $7") + ` m
	CROSS JOIN LATERAL (
		SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = $2 AND seq = h.seq OFFSET 0) mt
	WHERE $8 = '' OR NOT EXISTS (
		SELECT 1 FROM vectors v WHERE v.org_id = $1 AND v.model = $8 AND v.space_id = $2 AND v.seq = h.seq OFFSET 0)`

// Near finds live memories close to a text: equal ones, those with a close vector, and where a vector is missing on either
// side those that share most of their terms.
func (t *tx) Near(ctx context.Context, q memory.NearQuery) ([]memory.Near, error) {
	found := map[uuid.UUID]*memory.Near{}
	at := func(id uuid.UUID) *memory.Near {
		if found[id] == nil {
			found[id] = &memory.Near{ID: id}
		}
		return found[id]
	}
	b := &pgx.Batch{}
	b.Queue(nearText, t.org, q.Space, t.hash128(textDomain, q.Normal), q.Kind, q.Limit).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			err := rows.Scan(&id)
			at(id).SameText = true
			return err
		})
	})
	model := ""
	if q.Vector != nil {
		model = q.Model
		indexed := postgres.VectorModel{Model: q.Model, Dimensions: len(q.Vector)}
		scope, err := t.live(q.Space)
		if err != nil {
			return nil, err
		}
		total, ok, err := t.past().vectorIndex(ctx, indexed, scope)
		if err != nil {
			return nil, err
		}
		vector := pgvector.NewHalfVector(q.Vector)
		var queued *pgx.QueuedQuery
		if ok {
			queued = queueNearest(b, nearWanted, float64(scope), total, nearestVectors(indexed), t.org, []int32{q.Space}, vector, nearWanted, q.Kind, q.MinCosine)
		} else {
			queued = b.Queue(nearVectors, t.org, q.Space, q.Kind, q.Model, vector, q.MinCosine, q.Limit)
		}
		queued.Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id uuid.UUID
				var cosine float64
				err := rows.Scan(&id, &cosine)
				at(id).Cosine = cosine
				return err
			})
		})
	}
	terms := t.hashes(termDomain, q.Terms)
	if len(terms) > 0 {
		size := float64(len(terms))
		common := int(math.Ceil(q.MinOverlap * size))
		m := max(1, common/4) // reads a third more postings than 1 would, and leaves hardly any candidate by chance
		b.Queue(nearTerms, t.org, q.Space, q.Kind, terms, len(terms)-common+m, common, int(size/q.MinOverlap), model,
			maxNearPostings, m).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id uuid.UUID
				var theirs []int64
				err := rows.Scan(&id, &theirs)
				if o := overlap(terms, theirs); o >= q.MinOverlap {
					at(id).Overlap = o
				}
				return err
			})
		})
	}
	if err := t.past().tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("compare with what is known: %w", err)
	}
	t.nearWaiting(q, t.hash128(textDomain, q.Normal), terms, at)
	out := make([]memory.Near, 0, len(found))
	for _, n := range found {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b memory.Near) int {
		if a.SameText != b.SameText {
			if a.SameText {
				return -1
			}
			return 1
		}
		// Among equal texts the oldest is the one to confirm.
		if x, y := max(a.Cosine, a.Overlap), max(b.Cosine, b.Overlap); !a.SameText && x != y {
			if x > y {
				return -1
			}
			return 1
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
	return out[:min(len(out), q.Limit)], nil
}

// nearWaiting compares with the memories that are added and not sent, by the rules of the statements.
func (t *tx) nearWaiting(q memory.NearQuery, text []byte, terms []int64, at func(uuid.UUID) *memory.Near) {
	for m := range t.waiting() {
		if m.Space != q.Space || m.Kind != q.Kind || m.Status != memory.Live {
			continue
		}
		if bytes.Equal(m.found.text, text) {
			at(m.ID).SameText = true
		}
		var vector []float32
		if q.Vector != nil {
			vector = t.waitingVector(m, q.Model)
		}
		switch {
		case vector != nil:
			if c := memory.Cosine(q.Vector, vector); c >= q.MinCosine {
				at(m.ID).Cosine = c
			}
		case len(terms) > 0:
			if o := overlap(terms, m.found.terms); o >= q.MinOverlap {
				at(m.ID).Overlap = o
			}
		}
	}
}

// live is how many memories a held space has in recall.
func (t *tx) live(space int32) (int, error) {
	sp, err := t.held(space)
	if err != nil {
		return 0, err
	}
	return sp.Live, nil
}

// overlap is the Jaccard index of two sorted sets: shared members by all members.
func overlap(a, b []int64) float64 {
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			shared++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}

// BySource finds the memory an import already made of a record.
func (t *tx) BySource(ctx context.Context, space int32, key string) (uuid.UUID, error) {
	return t.id(ctx, `SELECT memory_id FROM memories WHERE org_id = $1 AND space_id = $2 AND source_key = $3
		UNION ALL SELECT memory_id FROM import_keys WHERE org_id = $1 AND space_id = $2 AND source_key = $3`,
		t.org, space, t.hash128(sourceDomain, key))
}

// Shown tells what a session was last shown of a memory. A line of an index shows a title, which is nothing to decide on.
func (t *tx) Shown(ctx context.Context, session string, id uuid.UUID) (memory.Shown, error) {
	var s memory.Shown
	var doubted *time.Time
	err := t.tx.QueryRow(ctx, `SELECT revision, doubted_at FROM impressions
		WHERE org_id = $1 AND memory_id = $2 AND session_id = $3 AND door <> 'index' ORDER BY last_at DESC, revision DESC LIMIT 1`,
		t.org, id, session).Scan(&s.Revision, &doubted)
	if postgres.IsNoRows(err) {
		return memory.Shown{}, nil
	}
	if doubted != nil {
		s.DoubtedAt = *doubted
	}
	return s, err
}
