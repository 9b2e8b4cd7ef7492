// Package postgres is the memory.Store on PostgreSQL: SQL, transactions, row mapping, and the encryption that everything
// above it need not know about.
package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// Store is a memory.Store. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	master keyring
	groups groups
	exact  exactBound
	tried  attempts

	residents residents
}

var _ memory.Store = (*Store)(nil)

// New makes a Store on an open database. The master key unwraps the keys of the organizations in it.
func New(db *postgres.DB, master *secret.Master, options ...Option) *Store {
	s := &Store{db: db, master: keyring{master: master, keys: map[uuid.UUID]opened{}}, exact: DefaultExactVectors, groups: newGroups()}
	for _, option := range options {
		option(s)
	}
	return s
}

// view reads within one transaction of one organization. Its methods are grouped by topic in the files of this package.
type view struct {
	tx    pgx.Tx
	org   uuid.UUID
	keys  *secret.Keys
	exact exactBound
	tried *attempts

	residents  *residents                  // nil in a transaction that writes: they do not hold what it has written
	searched   []*resident                 // of the last search, when it was answered from memory
	searchedIn []int32                     // their spaces
	seen       *sighting                   // the newest look at what has changed in residents
	traits     map[uuid.UUID]memory.Traits // of what the last search compared exactly, by the model it asked with

	hashed   map[word]int64                 // by keys
	models   map[uuid.UUID][]memory.Element // of projects, as read in this transaction: a model is large and asked for often
	erasures int64                          // of the organization, as Answered read them
}

// tx writes as well; see memory.Tx.
type tx struct {
	view
	pipeline *pipeline // view.tx, by its own type
	spaces   map[memory.SpaceKey]*lockedSpace
	erased   bool // a memory
}

// lockedSpace is a space this transaction holds, with the numbers it hands out.
type lockedSpace struct {
	memory.Space
	nextSeq   int32
	nextEvent int64
	compared  memory.Compared // of a project, when its space was taken
}

// View runs fn on one snapshot. When the keys at hand turn out to be old with the first thing that fn asks, fn runs again.
func (s *Store) View(ctx context.Context, org uuid.UUID, fn func(memory.View) error) error {
	return s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead}, func(t pgx.Tx) error {
		if kept := s.master.kept(org); kept.Keys != nil {
			first := &snapshot{Tx: t, org: org, from: kept.from}
			if err := fn(&view{tx: first, org: org, keys: kept.Keys, exact: s.exact, tried: &s.tried, residents: &s.residents}); !first.stale {
				return err
			}
		}
		keys, err := s.keysOf(ctx, t, org)
		if err != nil {
			return err
		}
		return fn(&view{tx: t, org: org, keys: keys, exact: s.exact, tried: &s.tried, residents: &s.residents})
	})
}

// Write runs fn in a transaction that holds the spaces, perhaps together with other writes of the same spaces (groups),
// and returns when what it wrote is on disk.
func (s *Store) Write(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(memory.Tx) error) error {
	erased := false
	err := s.write(ctx, org, lockOrder(spaces), func(t memory.Tx) error {
		err := fn(t)
		w, ours := t.(*tx)
		erased = ours && w.erased
		return err
	})
	if err == nil && erased {
		// Not within the write: writers of the space would wait. What this leaves is given to nobody, and upkeep destroys it.
		_ = s.destroyAnswers(ctx, org)
	}
	return err
}

// lockOrder puts the organization first and the rest in one order for everybody, so that writers never wait in a circle.
func lockOrder(keys []memory.SpaceKey) []memory.SpaceKey {
	rank := map[memory.Scope]int{memory.Organization: 0, memory.Project: 1, memory.Personal: 2}
	out := slices.Clone(keys)
	slices.SortFunc(out, func(a, b memory.SpaceKey) int {
		if d := rank[a.Scope] - rank[b.Scope]; d != 0 {
			return d
		}
		switch {
		case a.Owner < b.Owner:
			return -1
		case a.Owner > b.Owner:
			return 1
		}
		return 0
	})
	return slices.Compact(out)
}

// writePlans is for transactions that read a few rows by key, whatever the statistics say: tables that were just filled have
// none yet, and a plan made without them scans. What is switched off counts as costly where nothing else will do, and a server that
// compiles (jit) costly plans would take a second for it.
const writePlans = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), ` + bySeqOnly

// lockSpace takes a space, and before the first one what admission stands for.
func (t *tx) lockSpace(ctx context.Context, key memory.SpaceKey, first *admission) (*lockedSpace, error) {
	const lock = `SELECT space_id, live, next_seq, next_event FROM spaces WHERE org_id = $1 AND scope = $2 AND owner = $3 FOR UPDATE`
	sp := &lockedSpace{Space: memory.Space{SpaceKey: key}}
	scan := func(first *admission) error {
		b := &pgx.Batch{}
		b.Queue(writePlans)
		if first != nil {
			first.queue(b, t.org)
		}
		b.Queue(lock, t.org, key.Scope, key.Owner).QueryRow(func(row pgx.Row) error {
			return row.Scan(&sp.ID, &sp.Live, &sp.nextSeq, &sp.nextEvent)
		})
		if key.Scope == memory.Project { // what a memory is written on is asked by nearly every write
			b.Queue(latestCompared, t.org, key.Owner).QueryRow(func(row pgx.Row) error { return scanCompared(row, &sp.compared) })
		}
		return t.tx.SendBatch(ctx, b).Close()
	}
	err := scan(first)
	if first != nil && !first.granted && (err == nil || postgres.IsNoRows(err)) {
		return nil, errKeysChange
	}
	if !postgres.IsNoRows(err) {
		return sp, err
	}
	if err := t.createSpace(ctx, key); err != nil {
		return nil, err
	}
	return sp, scan(nil)
}

// createSpace makes a space that does not exist. The update of the organization's row makes concurrent creators wait for
// each other, so that no number is handed out twice.
func (v *view) createSpace(ctx context.Context, key memory.SpaceKey) error {
	var id int32
	if err := v.tx.QueryRow(ctx, `UPDATE organizations SET next_space_id = next_space_id + 1 WHERE org_id = $1
		RETURNING next_space_id - 1`, v.org).Scan(&id); err != nil {
		return err
	}
	_, err := v.tx.Exec(ctx, `INSERT INTO spaces (org_id, space_id, scope, owner) VALUES ($1, $2, $3, $4)
		ON CONFLICT (org_id, scope, owner) DO NOTHING`, v.org, id, key.Scope, key.Owner)
	return err
}

// Space gives a space this transaction holds; a zero one when it does not.
func (t *tx) Space(key memory.SpaceKey) memory.Space {
	if sp := t.spaces[key]; sp != nil {
		return sp.Space
	}
	return memory.Space{}
}

// Holds tells whether this transaction holds a space.
func (t *tx) Holds(space int32) bool {
	_, err := t.held(space)
	return err == nil
}

// held finds a locked space by number.
func (t *tx) held(id int32) (*lockedSpace, error) {
	for _, sp := range t.spaces {
		if sp.ID == id {
			return sp, nil
		}
	}
	return nil, fmt.Errorf("space %d is not held by this transaction", id)
}
