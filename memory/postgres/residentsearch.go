package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/index"
)

// residentMemories gives what an index holds of memories; those that are not live have no id.
var residentMemories = `
	SELECT c.space_id, c.seq, m.memory_id, m.handle, m.kind, m.confirmed_at, m.citations, m.ignored_by, m.doubted, m.unreviewed, m.expires_at, m.refused,
		t.terms, t.tags, v.embedding
	FROM unnest($2::int[], $3::int[]) AS c (space_id, seq)
	LEFT JOIN LATERAL ` + bySeq("memory_id, handle, kind, confirmed_at, citations, ignored_by, verify OR disputed AS doubted, unreviewed, expires_at, refused_by = $4 AS refused",
	"c.space_id", "c.seq", "") + ` m ON true
	LEFT JOIN LATERAL (SELECT terms, tags FROM memory_terms WHERE org_id = $1 AND space_id = c.space_id AND seq = c.seq OFFSET 0) t ON true
	LEFT JOIN LATERAL (SELECT halfvec_send(embedding) AS embedding FROM vectors
		WHERE org_id = $1 AND model = $4 AND space_id = c.space_id AND seq = c.seq OFFSET 0) v ON true`

// attachedMemories gives what is attached to elements, with the distance of the nearest: an index alone answers it.
const attachedMemories = `
	SELECT a.memory_id, min(e.distance)::int
	FROM unnest($2::uuid[], $3::int[]) AS e (element_id, distance)
	CROSS JOIN LATERAL (SELECT memory_id FROM attachments
		WHERE org_id = $1 AND element_id = e.element_id AND detached_at IS NULL OFFSET 0) a
	GROUP BY a.memory_id`

const (
	// perRead is how many memories are read at once into an index: two megabytes with their vectors.
	perRead = 2000
	// readTimeout bounds one such read.
	readTimeout = time.Minute
	// fewChanges are always read one by one; more only up to a quarter of a space.
	fewChanges = 500
)

// searchResident is Search by the spaces in memory; it is not done when one of them is not there, or had better be read anew.
func (v *view) searchResident(ctx context.Context, s memory.Search) (found memory.Found, done bool, err error) {
	if v.residents == nil {
		return found, false, nil
	}
	in, ok := v.residents.find(v.org, v.keys.IndexID(), s)
	if ok {
		ok, err = v.refresh(ctx, in, s.Spaces)
	}
	if !ok || err != nil {
		v.residents.misses.Add(1)
		return found, false, err
	}
	q := index.Query{Search: s, Hashes: make([]int64, len(s.Terms)), Tags: make([]int64, len(s.Narrow.Tags))}
	for i, t := range s.Terms {
		q.Hashes[i] = v.keys.Hash64(termDomain, t)
	}
	for i, t := range s.Narrow.Tags {
		q.Tags[i] = v.keys.Hash64(tagDomain, t)
	}
	for _, r := range in {
		q.In = append(q.In, r.Space)
	}
	if s.Narrow.ByElement {
		if q.ByElement, err = v.attachedMemories(ctx, s.Narrow.Elements); err != nil {
			return found, false, fmt.Errorf("narrow: %w", err)
		}
	}
	if s.Narrow.ByPath {
		of := make([]memory.ElementDistance, len(s.Narrow.PathElements))
		for i, e := range s.Narrow.PathElements {
			of[i].ID = e
		}
		if q.ByPath, err = v.attachedMemories(ctx, of); err != nil {
			return found, false, fmt.Errorf("narrow: %w", err)
		}
		for _, m := range s.Narrow.PathMemories {
			q.ByPath[m] = 0
		}
	}
	if s.ByVector() {
		q.Cosines = func(ctx context.Context, of []index.Open) (map[index.Place]float64, error) {
			return v.exactCosines(ctx, s, of)
		}
	}
	if found, err = index.Search(ctx, q); err != nil {
		return found, false, fmt.Errorf("compare vectors: %w", err)
	}
	v.residents.hits.Add(1)
	v.searched, v.searchedIn = in, s.Spaces
	return found, true, nil
}

// knows tells whether the last search was about these spaces, and answered from memory by the vectors of a model.
func (v *view) knows(spaces []int32, model string) bool {
	return len(v.searched) > 0 && slices.Equal(v.searchedIn, spaces) && !slices.ContainsFunc(v.searched, func(r *resident) bool { return r.model != model })
}

// attachedMemories gives what is attached to elements, with distances.
func (v *view) attachedMemories(ctx context.Context, to []memory.ElementDistance) (map[uuid.UUID]int, error) {
	out := map[uuid.UUID]int{}
	if len(to) == 0 {
		return out, nil
	}
	ids, distances := make([]uuid.UUID, len(to)), make([]int32, len(to))
	for i, e := range to {
		ids[i], distances[i] = e.ID, int32(e.Distance) //nolint:gosec // the depth of a model
	}
	rows, err := v.tx.Query(ctx, attachedMemories, v.org, ids, distances)
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var distance int
	_, err = pgx.ForEachRow(rows, []any{&id, &distance}, func() error {
		out[id] = distance
		return nil
	})
	return out, err
}

// state is what a memory is now: in recall or, without an id, not.
type state = index.Memory

// move brings a resident to a moment by what has changed since the one it was at, or an earlier one.
func (r *resident) move(to *moment, changed []state) {
	r.apply.Lock()
	defer r.apply.Unlock()
	if at := r.at.Load(); at.covers(to) || !to.covers(at) {
		return // another search was here, with a newer snapshot
	}
	for _, s := range changed {
		if s.ID == uuid.Nil {
			r.Remove(s.Seq)
		} else {
			r.Put(s)
		}
	}
	r.at.Store(to)
}

// readStates reads memories by their numbers.
func (v *view) readStates(ctx context.Context, model string, spaces, seqs []int32, each func(space int32, s state)) error {
	rows, err := v.tx.Query(ctx, residentMemories, v.org, spaces, seqs, model)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var space int32
		var s state
		var id *uuid.UUID
		var handle, kind *string
		var confirmed *time.Time
		var citations, ignored *int
		var doubted, unreviewed, refused *bool
		var vector []byte
		if err := rows.Scan(&space, &s.Seq, &id, &handle, &kind, &confirmed, &citations, &ignored, &doubted, &unreviewed, &s.Expires, &refused,
			&s.Terms, &s.Tags, &vector); err != nil {
			return err
		}
		if id != nil {
			s.ID, s.Handle, s.Refused = *id, *handle, *refused
			s.Standing = memory.Standing{Kind: memory.Kind(*kind), ConfirmedAt: *confirmed, Citations: *citations, IgnoredBy: *ignored, Doubted: *doubted, Unreviewed: *unreviewed}
			if s.Vector, err = readHalf(vector); err != nil {
				return err
			}
		}
		each(space, s)
	}
	return rows.Err()
}

// readHalf reads a halfvec in its binary form (pgvector, halfvec_send): number of dimensions and an unused number, of 16 bits each,
// then numbers of half precision.
func readHalf(b []byte) ([]float32, error) {
	if len(b) == 0 {
		return nil, nil
	}
	const header = 4
	if len(b) < header || len(b) != header+2*int(binary.BigEndian.Uint16(b)) {
		return nil, fmt.Errorf("a vector of half precision does not have %d bytes", len(b))
	}
	out := make([]float32, (len(b)-header)/2)
	for i := range out {
		out[i] = half(binary.BigEndian.Uint16(b[header+2*i:]))
	}
	return out, nil
}

// half gives a number of half precision (IEEE 754 binary16).
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero, or too small for the usual form
		return float32(math.Copysign(math.Ldexp(float64(fraction), -24), 1-2*float64(h>>15)))
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// HalfPrecision gives a vector as the database keeps and compares it: its numbers rounded to half precision. None is nil.
func HalfPrecision(vector []float32) []float32 {
	if vector == nil {
		return nil
	}
	out := make([]float32, len(vector))
	for i, x := range vector {
		out[i] = toHalf(x)
	}
	return out
}

// toHalf rounds a number to the nearest of half precision, of two to the even one, as pgvector does. It is for components of unit
// vectors: none is too large.
func toHalf(x float32) float32 {
	if abs := math.Abs(float64(x)); abs < 0x1p-14 { // too small for the usual form
		return float32(math.RoundToEven(float64(x)*0x1p24) * 0x1p-24)
	}
	const dropped = 13 // bits of the fraction
	bits := math.Float32bits(x)
	bits += 1<<(dropped-1) - 1 + bits>>dropped&1
	return math.Float32frombits(bits &^ (1<<dropped - 1))
}

// reside reads a space into memory, when there is room for it.
func (s *Store) reside(ctx context.Context, at spaceOfOrg, model string) error {
	held := &resident{Space: index.NewSpace(), model: model}
	fits := false
	err := s.db.InOrg(ctx, at.org, postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: readTimeout}, func(t pgx.Tx) error {
		keys, err := s.keysOf(ctx, t, at.org)
		if err != nil {
			return err
		}
		v := &view{tx: t, org: at.org, keys: keys}
		held.Space, held.keys = index.NewSpace(), keys.IndexID()
		var now *moment
		var live, next, dimensions int
		b := &pgx.Batch{}
		queueMoment(b, &now)
		b.Queue(`SELECT live, next_seq FROM spaces WHERE org_id = $1 AND space_id = $2`, at.org, at.space).QueryRow(func(row pgx.Row) error {
			return row.Scan(&live, &next)
		})
		b.Queue(`SELECT coalesce((SELECT vector_dims(embedding) FROM vectors WHERE org_id = $1 AND model = $3 AND space_id = $2 LIMIT 1), 0)`,
			at.org, at.space, model).QueryRow(func(row pgx.Row) error { return row.Scan(&dimensions) })
		if err := t.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if fits = s.residents.room(at, index.Estimate(live, dimensions)); !fits {
			return nil
		}
		held.at.Store(now)
		for from := 0; from < next; from += perRead {
			n := min(perRead, next-from)
			spaces, seqs := make([]int32, n), make([]int32, n)
			for i := range n {
				spaces[i], seqs[i] = at.space, int32(from+i)
			}
			if err := v.readStates(ctx, model, spaces, seqs, func(_ int32, st state) {
				if st.ID != uuid.Nil {
					held.Put(st)
				}
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !fits {
		return err
	}
	s.residents.hold(at, held)
	return nil
}
