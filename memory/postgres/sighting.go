package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// changesSince gives what was changed in some spaces by transactions from a number on. Rows that came with a restored backup have the
// numbers of another server: those that are still to come here say nothing.
const changesSince = `
	SELECT s.space_id, c.seq, c.xid FROM unnest($2::int[], $3::bigint[]) AS s (space_id, since)
	CROSS JOIN LATERAL (SELECT seq, xid FROM memory_changes
		WHERE org_id = $1 AND space_id = s.space_id AND xid >= s.since AND xid < (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint) OFFSET 0) c`

// spacesSeen counts the spaces of a list that the transaction sees.
const spacesSeen = `SELECT count(*)::int FROM spaces WHERE org_id = $1 AND space_id = ANY ($2)`

// lookUps begins lookups by key, and tells the moment of the transaction. What is left for the database stays at its indexes: a plan that
// was made while a table was empty would read all of it later.
const lookUps = readMoment + `, ` + plannerSettings + `, set_config('enable_seqscan', 'off', true)`

// nameOfOrg is a space by its key.
type nameOfOrg struct {
	org uuid.UUID
	memory.SpaceKey
}

// maxNames bounds the spaces whose numbers are remembered.
const maxNames = 10_000

// named remembers which spaces some keys have.
func (r *residents) named(org uuid.UUID, keys []memory.SpaceKey, spaces []memory.Space) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		return
	}
	if len(r.names)+len(keys) > maxNames {
		clear(r.names)
	}
	for _, k := range keys {
		r.names[nameOfOrg{org, k}] = 0
	}
	for _, s := range spaces {
		r.names[nameOfOrg{org, s.SpaceKey}] = s.ID
	}
}

// expected gives the residents that a search of some keys will likely ask, with their spaces; none when one is not there.
func (r *residents) expected(org uuid.UUID, keys []memory.SpaceKey) (in []*resident, spaces []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range keys {
		space, known := r.names[nameOfOrg{org, k}]
		held := r.spaces[spaceOfOrg{org, space}]
		if !known || held == nil && space != 0 {
			return nil, nil
		}
		if held != nil {
			in, spaces = append(in, held), append(spaces, space)
		}
	}
	return in, spaces
}

// sighting is what one look at the log of changes tells about residents, in the snapshot of the transaction.
type sighting struct {
	in      []*resident
	spaces  []int32
	from    []*moment // where each was
	now     *moment   // of the snapshot
	changed [][]int32 // numbers of what was changed in each since then
}

// look queues what tells how residents have changed.
func (v *view) look(b *pgx.Batch, in []*resident, spaces []int32) *sighting {
	s := &sighting{in: in, spaces: spaces, from: make([]*moment, len(in)), changed: make([][]int32, len(in))}
	since := make([]int64, len(in))
	for i, r := range in {
		s.from[i] = r.at.Load()
		since[i] = s.from[i].min
	}
	queueMoment(b, &s.now)
	b.Queue(changesSince, v.org, spaces, since).Query(func(rows pgx.Rows) error {
		var space, seq int32
		var xid int64
		_, err := pgx.ForEachRow(rows, []any{&space, &seq, &xid}, func() error {
			if i := slices.Index(spaces, space); !s.from[i].has(xid) {
				s.changed[i] = append(s.changed[i], seq)
			}
			return nil
		})
		return err
	})
	return s
}

// queueMoment begins a batch of lookups by key, and learns in which moment it is.
func queueMoment(b *pgx.Batch, to **moment) {
	b.Queue(lookUps).QueryRow(func(row pgx.Row) error {
		var snapshot, life string
		if err := row.Scan(&snapshot, &life, nil, nil, nil, nil, nil); err != nil {
			return err
		}
		now, err := parseMoment(snapshot, life)
		*to = now
		return err
	})
}

// SearchedSpaces is Spaces, and looks in the same round trip at what has changed in those that are held in memory: which these are is
// known from the time before. Where that is wrong by now, the search looks by itself.
func (v *view) SearchedSpaces(ctx context.Context, keys []memory.SpaceKey) ([]memory.Space, error) {
	if v.residents == nil {
		return v.Spaces(ctx, keys)
	}
	spaces, err := v.spacesAhead(ctx, keys)
	if err == nil {
		v.residents.named(v.org, keys, spaces)
	}
	return spaces, err
}

func (v *view) spacesAhead(ctx context.Context, keys []memory.SpaceKey) (spaces []memory.Space, err error) {
	in, numbers := v.residents.expected(v.org, keys)
	if len(in) == 0 {
		return v.Spaces(ctx, keys)
	}
	scopes, owners := columnsOf(keys)
	b := &pgx.Batch{}
	b.Queue(spacesNamed, v.org, scopes, owners).Query(func(rows pgx.Rows) error {
		spaces, err = pgx.CollectRows(rows, scanSpace)
		return err
	})
	s := v.look(b, in, numbers)
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	for _, n := range numbers {
		if !slices.ContainsFunc(spaces, func(s memory.Space) bool { return s.ID == n }) {
			return spaces, nil
		}
	}
	v.seen = s
	return spaces, nil
}

// sight looks at residents, unless that was done in this snapshot. It is nil when the transaction does not see all of their spaces.
func (v *view) sight(ctx context.Context, in []*resident, spaces []int32) (*sighting, error) {
	if v.seen != nil && !slices.ContainsFunc(in, func(r *resident) bool { return !slices.Contains(v.seen.in, r) }) {
		return v.seen, nil
	}
	count := 0
	b := &pgx.Batch{}
	s := v.look(b, in, spaces)
	b.Queue(spacesSeen, v.org, spaces).QueryRow(func(row pgx.Row) error { return row.Scan(&count) })
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("look for changes: %w", err)
	}
	if count != len(spaces) {
		return nil, nil
	}
	v.seen = s
	return s, nil
}

// refresh brings residents up to the snapshot of the transaction, or leaves those that are further than it where they are: what is
// found is then as new as what a recall that began a moment later would find. It is false when they had better be read anew.
func (v *view) refresh(ctx context.Context, in []*resident, spaces []int32) (ok bool, err error) {
	s, err := v.sight(ctx, in, spaces)
	if s == nil || err != nil {
		return false, err
	}
	ok = true
	var read []int32 // of which space
	var seqs []int32
	behind := make([]bool, len(in))
	for i, r := range in {
		k := slices.Index(s.in, r)
		if behind[i] = !r.at.Load().covers(s.now); !behind[i] {
			continue // this search or another was here
		}
		if s.from[k].life != s.now.life || len(s.changed[k]) > fewChanges+r.Live()/4 {
			v.residents.drop(spaceOfOrg{v.org, spaces[i]}, r)
			ok = false
			continue
		}
		for _, seq := range s.changed[k] {
			read, seqs = append(read, spaces[i]), append(seqs, seq)
		}
	}
	if !ok {
		return false, nil
	}
	states := make([][]state, len(in))
	if len(seqs) > 0 {
		if err := v.readStates(ctx, in[0].model, read, seqs, func(space int32, s state) {
			i := slices.Index(spaces, space)
			states[i] = append(states[i], s)
		}); err != nil {
			if postgres.SQLState(err) != "" || ctx.Err() != nil {
				return false, fmt.Errorf("read changes: %w", err)
			}
			// A row that no program wrote: the database makes of it what it can.
			for i, r := range in {
				v.residents.drop(spaceOfOrg{v.org, spaces[i]}, r)
			}
			return false, nil
		}
	}
	for i, r := range in {
		if behind[i] {
			r.move(s.now, states[i])
		}
	}
	return true, nil
}
