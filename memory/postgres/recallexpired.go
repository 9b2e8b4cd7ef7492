package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// expiredMemories lists what has left recall by its expiry only, through the partial index memories_expires. Its postings
// are still there. A null moment lists nothing.
const expiredMemories = `
	SELECT space_id, seq, reindexed, text_hash FROM memories
	WHERE org_id = $1 AND space_id = ANY ($2) AND status = 'live' AND expires_at IS NOT NULL AND expires_at <= $3`

// expiredDigests tells by one number for each space whether other memories have expired than before, or one of them has other terms:
// it was indexed anew, or its hashes have another key. (xmin would tell as much, but Citus sends no system column to where the rows lie.)
const expiredDigests = `
	SELECT space_id, count(*)::int, bit_xor(hash_record_extended(ROW (seq, reindexed, text_hash), 0))
	FROM (` + expiredMemories + `) e GROUP BY space_id`

// expiredTerms gives the expired memories with the terms of each, to be taken off df. Reading them once costs a fraction of
// looking each memory up in the postings of every word.
const expiredTerms = `
	SELECT e.space_id, e.seq, m.terms FROM (` + expiredMemories + `) e
	LEFT JOIN LATERAL (SELECT terms FROM memory_terms WHERE org_id = $1 AND space_id = e.space_id AND seq = e.seq OFFSET 0) m ON true`

// digest stands for the memories of a space that have expired, as they are now. Two different sets have one digest with
// a probability of 2^-64.
type digest struct {
	count int
	hash  int64
}

// expiry is what has expired in one space.
type expiry struct {
	digest
	seqs []int32         // ascending
	df   map[int64]int32 // of their terms: what they take off the frequencies
}

// expiries are those that a connection has read, so that a recall reads them again only after a change: this is most of
// what a recall of a large space would read. They are kept with the connection, like its prepared statements, and end with
// it: a database that was restored is reached by a new connection. A connection serves one transaction at a time.
type expiries struct {
	of    map[spaceOfOrg]*expiry
	terms int // in all of them
}

type spaceOfOrg struct {
	org   uuid.UUID
	space int32
}

const (
	expiriesKey = "stele.expired"
	// maxKeptTerms bounds the terms that one connection keeps: some megabytes.
	maxKeptTerms = 100_000
)

// expiriesOf gives those of a connection.
func expiriesOf(conn *pgx.Conn) *expiries {
	data := conn.PgConn().CustomData()
	kept, ok := data[expiriesKey].(*expiries)
	if !ok {
		kept = &expiries{of: map[spaceOfOrg]*expiry{}}
		data[expiriesKey] = kept
	}
	return kept
}

// keep remembers what has expired in a space. When there is no room it forgets the others, which are read again.
func (k *expiries) keep(at spaceOfOrg, e *expiry) {
	if old := k.of[at]; old != nil {
		k.terms -= len(old.df)
		delete(k.of, at)
	}
	if k.terms+len(e.df) > maxKeptTerms {
		clear(k.of)
		k.terms = 0
	}
	if len(e.df) <= maxKeptTerms {
		k.of[at] = e
		k.terms += len(e.df)
	}
}

// expire learns what has expired in each space, given the digests of those where something has.
func (m *searcher) expire(ctx context.Context, digests map[int32]digest, at *time.Time) error {
	kept := expiriesOf(m.tx.Conn())
	m.expired = make(map[int32]*expiry, len(digests))
	var changed []int32
	for space, d := range digests {
		e := kept.of[spaceOfOrg{m.org, space}]
		if e == nil || e.digest != d {
			changed = append(changed, space)
			e = &expiry{digest: d, df: map[int64]int32{}}
		}
		m.expired[space] = e
	}
	if len(changed) == 0 {
		return nil
	}
	rows, err := m.tx.Query(ctx, expiredTerms, m.org, changed, at)
	if err != nil {
		return err
	}
	var p place
	var terms []int64
	_, err = pgx.ForEachRow(rows, []any{&p.space, &p.seq, nil}, func() error {
		var err error
		if terms, err = appendNumbers(terms[:0], rows.RawValues()[2]); err != nil {
			return err
		}
		e := m.expired[p.space]
		e.seqs = append(e.seqs, p.seq)
		for _, t := range terms {
			e.df[t]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, space := range changed {
		slices.Sort(m.expired[space].seqs)
		kept.keep(spaceOfOrg{m.org, space}, m.expired[space])
	}
	return nil
}

// hasExpired tells whether a memory has left recall by its expiry.
func (m *searcher) hasExpired(p place) bool {
	e := m.expired[p.space]
	if e == nil {
		return false
	}
	_, found := slices.BinarySearch(e.seqs, p.seq)
	return found
}
