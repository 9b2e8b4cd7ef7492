package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

// Keys change while others read and write, in this process and in others. Keysets are told apart by a hash of what is stored
// (identity), never by how often they changed: a restored backup counts again from an earlier number. These rules keep everybody right without asking anybody to stop:
//
//   - a read uses the keys of its own snapshot: it asks for the keysets' identity there and opens them anew when it differs
//     from that of the keys at hand;
//   - a write holds an advisory lock of the organization (postgres.KeysLock), shared, from before it asks for the identity
//     until it has committed. What changes the keysets holds it alone. So nothing is sealed or hashed with keys that a
//     committed change has replaced. The lock comes before any lock on rows, in every transaction;
//   - a write that does not get the lock at once gives its connection back and asks again: computing an index anew takes
//     longer than a statement may, and readers need the connections.

// keyring opens and keeps the keys of the organizations served so far. It is safe for concurrent use.
type keyring struct {
	load func() (*secret.Master, error) // reads the master key anew; nil where it cannot change

	mu     sync.Mutex
	master *secret.Master
	keys   map[uuid.UUID]opened
}

// identity names the keysets of an organization as stored: SHA-256 of them. Wrapping is randomized, so that no two changes
// store the same.
type identity [sha256.Size]byte

// opened are an organization's keys with the identity of the keysets that they were opened from.
type opened struct {
	from identity
	*secret.Keys
}

// Option changes how a Store works.
type Option func(*Store)

// ReloadMaster lets a Store read the master key anew where it meets keysets that another key wrapped, and before it wraps
// those of a new organization: another process may have rotated it. load may be called by several goroutines at once.
func ReloadMaster(load func() (*secret.Master, error)) Option {
	return func(s *Store) { s.master.load = load }
}

// NewKeys makes keysets for an organization, wrapped by the newest master key.
func (r *keyring) NewKeys(org uuid.UUID) (*secret.Keys, secret.Wrapped, error) {
	master, err := r.newest()
	if err != nil {
		return nil, secret.Wrapped{}, err
	}
	return master.NewKeys(org)
}

// newest gives the master key as it is now.
func (r *keyring) newest() (*secret.Master, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.load == nil {
		return r.master, nil
	}
	master, err := r.load()
	if err == nil {
		r.master = master
	}
	return master, err
}

// use makes master the one at hand.
func (r *keyring) use(master *secret.Master) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.master = master
}

// holding gives a master key that holds the key of that id, as far as there is one: the one at hand, else the newest.
func (r *keyring) holding(id string) (*secret.Master, error) {
	r.mu.Lock()
	master := r.master
	r.mu.Unlock()
	if master.Knows(id) {
		return master, nil
	}
	return r.newest()
}

// open opens wrapped keysets.
func (r *keyring) open(org uuid.UUID, w secret.Wrapped) (*secret.Keys, error) {
	master, err := r.holding(w.MasterKeyID)
	if err != nil {
		return nil, err
	}
	return master.OpenKeys(org, w)
}

// kept gives the keys that were opened last; nil Keys when none were.
func (r *keyring) kept(org uuid.UUID) opened {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[org]
}

// keep remembers keys. A long read may put older ones in the place of newer ones, which are then opened once more: which of
// two is the newer cannot be told from them.
func (r *keyring) keep(org uuid.UUID, k opened) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[org] = k
}

// keysOf gives the organization's keys as of the transaction's snapshot.
func (s *Store) keysOf(ctx context.Context, t pgx.Tx, org uuid.UUID) (*secret.Keys, error) {
	var from identity
	if err := scanIdentity(t.QueryRow(ctx, readIdentity, org), &from); err != nil {
		return nil, err
	}
	return s.keysAt(ctx, t, org, from)
}

// readIdentity is the identity of an organization's keysets.
const readIdentity = `SELECT ` + identityColumn + ` FROM organizations WHERE org_id = $1`

const identityColumn = `sha256(convert_to(master_key_id, 'UTF8') || sha256(data_keyset) || sha256(index_keyset))`

func scanIdentity(row pgx.Row, from *identity) error {
	var hash []byte
	err := row.Scan(&hash)
	if postgres.IsNoRows(err) {
		return problem.New(problem.NotFound, "organization", "there is no such organization", "check the token or the name")
	}
	copy(from[:], hash)
	return err
}

// keysAt gives the keys of the keysets that the transaction sees.
func (s *Store) keysAt(ctx context.Context, t pgx.Tx, org uuid.UUID, from identity) (*secret.Keys, error) {
	if k := s.master.kept(org); k.Keys != nil && k.from == from {
		return k.Keys, nil
	}
	stored, err := readKeysets(ctx, t, org)
	if err != nil {
		return nil, err
	}
	keys, err := s.master.open(org, stored.Wrapped)
	if err != nil {
		return nil, err
	}
	s.master.keep(org, opened{stored.identity, keys})
	return keys, nil
}

// keysets are an organization's as stored.
type keysets struct {
	secret.Wrapped
	identity identity
	changes  int32 // how often they were changed, from 1; for people
}

func readKeysets(ctx context.Context, t pgx.Tx, org uuid.UUID) (keysets, error) {
	var k keysets
	var hash []byte
	err := t.QueryRow(ctx, `SELECT `+identityColumn+`, key_generation, master_key_id, data_keyset, index_keyset FROM organizations WHERE org_id = $1`, org).
		Scan(&hash, &k.changes, &k.MasterKeyID, &k.Data, &k.Index)
	copy(k.identity[:], hash)
	return k, err
}

// errKeysChange says that the keysets of the organization are being changed: nothing was done, ask again.
var errKeysChange = errors.New("the keys of the organization are being changed")

// admission is what a write learns before it does anything.
type admission struct {
	granted bool
	keysets identity
}

// queue adds the statements that take the shared lock and then read the identity of the keysets.
func (a *admission) queue(b *pgx.Batch, org uuid.UUID) {
	b.Queue(`SELECT pg_try_advisory_xact_lock_shared($1, $2)`, postgres.KeysLock, keysLock(org)).QueryRow(func(row pgx.Row) error {
		return row.Scan(&a.granted)
	})
	b.Queue(readIdentity, org).QueryRow(func(row pgx.Row) error { return scanIdentity(row, &a.keysets) })
}

// keysLock is the second part of an organization's lock. Two organizations of one number wait for each other's changes, and
// nothing worse.
func keysLock(org uuid.UUID) int32 {
	h := fnv.New32a()
	_, _ = h.Write(org[:])  // never fails
	return int32(h.Sum32()) //nolint:gosec // all 32 bits are wanted, the sign is one of them
}

// maxChecked bounds the organizations that CheckKeys opens, so that it is quick where there are thousands.
const maxChecked = 100

// CheckKeys tells whether the master key opens what is stored: the keysets of every organization, or of a hundred taken at
// random where there are more. The error is a problem of code Unavailable; it names keys by their ids, and no organization.
func (s *Store) CheckKeys(ctx context.Context) error {
	var orgs []uuid.UUID
	err := s.db.WithoutOrg(ctx, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, `SELECT id FROM organization_ids() AS id ORDER BY random() LIMIT $1`, maxChecked)
		if err != nil {
			return err
		}
		orgs, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err != nil {
		return fmt.Errorf("list the organizations: %w", err)
	}
	for _, org := range orgs {
		err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
			stored, err := readKeysets(ctx, t, org)
			if err != nil {
				return err
			}
			_, err = s.master.open(org, stored.Wrapped)
			return err
		})
		if errors.Is(err, secret.ErrAltered) {
			return problem.New(problem.Unavailable, "master key", "the stored keys of an organization were altered, so its texts cannot be read",
				"restore the table organizations from a backup").Because(err)
		}
		if err != nil {
			return fmt.Errorf("check keys: %w", err)
		}
	}
	return nil
}
