package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// moment is a snapshot of a database: which transactions are in it.
type moment struct {
	life      string // of the database server and the table of changes: transactions of two lives cannot be compared
	min, next int64  // all before min are over, none from next on has begun
	running   []int64
}

// readMoment tells the moment of the transaction. A server that was started again, or another one, may give the numbers of
// transactions anew; so may a table that was restored.
const readMoment = `SELECT pg_current_snapshot()::text, extract(epoch FROM pg_postmaster_start_time())::text || ' ' || 'memory_changes'::regclass::oid::text`

// parseMoment reads pg_current_snapshot as text: xmin, xmax and what runs between them, behind colons.
func parseMoment(snapshot, life string) (*moment, error) {
	m := &moment{life: life}
	parts := strings.Split(snapshot, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is no snapshot", snapshot)
	}
	var err error
	if m.min, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return nil, fmt.Errorf("%q is no snapshot: %w", snapshot, err)
	}
	if m.next, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return nil, fmt.Errorf("%q is no snapshot: %w", snapshot, err)
	}
	if parts[2] == "" {
		return m, nil
	}
	for id := range strings.SplitSeq(parts[2], ",") {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no snapshot: %w", snapshot, err)
		}
		m.running = append(m.running, n)
	}
	slices.Sort(m.running)
	return m, nil
}

// has tells whether a transaction, if it was committed, is in the snapshot.
func (m *moment) has(xid int64) bool {
	if xid < m.min {
		return true
	}
	if xid >= m.next {
		return false
	}
	_, running := slices.BinarySearch(m.running, xid)
	return !running
}

// covers tells whether everything that is in another snapshot is in this one.
func (m *moment) covers(o *moment) bool {
	if m.life != o.life || m.next < o.next {
		return false
	}
	return !slices.ContainsFunc(m.running, o.has)
}
