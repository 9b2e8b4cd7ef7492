package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
)

const (
	// rotationTimeout bounds one statement of a rotation; the longest empties the index of an organization.
	rotationTimeout = 10 * time.Minute
	// resealPage is how many texts are sealed anew in one transaction: a writer of one of them waits for some milliseconds.
	resealPage = 200
)

// KeyStatus says how an organization's keys stand.
type KeyStatus struct {
	Generation  int32  `json:"generation"`   // number of changes of its keysets, from 1
	MasterKey   string `json:"master_key"`   // id of the master key that wraps them
	IndexKey    string `json:"index_key"`    // id of the key of its hashes
	DataKeys    int    `json:"data_keys"`    // 1, more while a rotation is under way
	SealedOlder int    `json:"sealed_older"` // texts that another than the newest data key sealed
}

// KeyStatus tells how the keys of an organization stand. It reads every sealed text's first bytes.
func (s *Store) KeyStatus(ctx context.Context, org uuid.UUID) (KeyStatus, error) {
	var out KeyStatus
	opts := postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: rotationTimeout}
	err := s.db.InOrg(ctx, org, opts, func(t pgx.Tx) error {
		stored, err := readKeysets(ctx, t, org)
		if err != nil {
			return err
		}
		keys, err := s.master.open(org, stored.Wrapped)
		if err != nil {
			return err
		}
		out = KeyStatus{Generation: stored.changes, MasterKey: stored.MasterKeyID, IndexKey: keys.IndexID(), DataKeys: keys.DataKeys()}
		out.SealedOlder, err = countOlder(ctx, t, org, keys)
		return err
	})
	return out, wrapRotation("status of", org, err)
}

// MasterKeys counts the organizations by the id of the master key that wraps their keysets.
func (s *Store) MasterKeys(ctx context.Context) (map[string]int, error) {
	orgs, err := s.OrganizationIDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the organizations: %w", err)
	}
	out := map[string]int{}
	for _, org := range orgs {
		err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
			stored, err := readKeysets(ctx, t, org)
			out[stored.MasterKeyID]++
			return err
		})
		if err != nil {
			return nil, wrapRotation("status of", org, err)
		}
	}
	return out, nil
}

// RotateData gives an organization a new data key, seals every text anew while others read and write, and drops the older
// keys. When an earlier rotation was interrupted it finishes that one instead. progress, which may be nil, is called with the
// texts done and those there were to do.
//
// A text that does not open is left as it is. As long as there are such, no data key is dropped, since one of them may open
// the text once it is put right, and the error says so (ErrUnreadable): everything else was done.
func (s *Store) RotateData(ctx context.Context, org uuid.UUID, progress func(done, total int)) error {
	r := &resealer{store: s, org: org, progress: progress}
	interrupted, err := s.addDataKey(ctx, org, false)
	if err != nil {
		return wrapRotation("add a data key of", org, err)
	}
	// From here on nothing is sealed by an older key, so what is left only becomes less.
	left, err := r.finish(ctx)
	if err == nil && interrupted && left > 0 && r.done == 0 {
		// Nothing was left of the earlier rotation but what does not open: it must not stand in the way of this one.
		if _, err = s.addDataKey(ctx, org, true); err != nil {
			return wrapRotation("add a data key of", org, err)
		}
		left, err = r.finish(ctx)
	}
	if err == nil && left > 0 {
		return problem.New(problem.Unavailable, "data key", fmt.Sprintf(
			"%s of organization %s cannot be opened with the keys at hand, the first in %s; all others are sealed by the new key, and the older keys stay",
			counted(left, "text", "texts"), org, r.first),
			"bring the texts back from a backup, then run stele key rotate again", "or erase the memories that stele list marks unreadable").Because(ErrUnreadable)
	}
	return wrapRotation("seal anew the texts of", org, err)
}

// ErrUnreadable says that a rotation did everything but what needs texts that do not open.
var ErrUnreadable = errors.New("there are texts that do not open")

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// addDataKey adds a data key. Where there are several already it does so only when further says so, and tells.
func (s *Store) addDataKey(ctx context.Context, org uuid.UUID, further bool) (several bool, err error) {
	err = s.changeKeys(ctx, org, func(_ pgx.Tx, stored secret.Wrapped) (secret.Wrapped, error) {
		master, err := s.master.holding(stored.MasterKeyID)
		if err != nil {
			return stored, err
		}
		keys, err := master.OpenKeys(org, stored)
		if err != nil {
			return stored, err
		}
		if several = keys.DataKeys() > 1; several && !further {
			return stored, nil
		}
		_, w, err := master.AddDataKey(org, stored)
		return w, err
	})
	return several, err
}

// finish seals everything anew and drops the older keys; left are the texts that do not open, for which they are kept.
func (r *resealer) finish(ctx context.Context) (left int, err error) {
	for {
		if err := r.pass(ctx); err != nil {
			return 0, err
		}
		left, err := r.store.dropOldDataKeys(ctx, r.org)
		if err != nil || left == 0 || left == r.unreadable {
			return left, err
		}
		pause(ctx, keysPatience) // a writer held a row
	}
}

// dropOldDataKeys drops them unless something is sealed by one, and tells how much.
func (s *Store) dropOldDataKeys(ctx context.Context, org uuid.UUID) (left int, err error) {
	err = s.changeKeys(ctx, org, func(t pgx.Tx, stored secret.Wrapped) (secret.Wrapped, error) {
		master, err := s.master.holding(stored.MasterKeyID)
		if err != nil {
			return stored, err
		}
		keys, w, err := master.DropOldDataKeys(org, stored)
		if err != nil {
			return stored, err
		}
		if left, err = countOlder(ctx, t, org, keys); err != nil || left > 0 {
			return stored, err
		}
		return w, nil
	})
	return left, err
}

func countOlder(ctx context.Context, t pgx.Tx, org uuid.UUID, keys *secret.Keys) (int, error) {
	columns := sealedColumns()
	counts := make([]string, len(columns))
	for i, c := range columns {
		counts[i] = fmt.Sprintf("(SELECT count(*) FROM %s WHERE %s)", c.Table, c.older())
	}
	var n int
	err := t.QueryRow(ctx, "SELECT "+strings.Join(counts, " + "), org, keys.Prefix()).Scan(&n)
	return n, err
}

// resealer seals the texts of one organization anew.
type resealer struct {
	store       *Store
	org         uuid.UUID
	progress    func(done, total int)
	done, total int
	unreadable  int    // texts that the last pass could not open
	first       string // place of the first of them
}

// pass goes once through everything.
func (r *resealer) pass(ctx context.Context) error {
	r.unreadable = 0
	err := r.page(ctx, func(t pgx.Tx, keys *secret.Keys) (err error) {
		left, err := countOlder(ctx, t, r.org, keys)
		r.total = r.done + left
		return err
	})
	if err != nil {
		return err
	}
	r.report()
	for _, c := range sealedColumns() {
		for last, more := []string(nil), true; more; {
			var rows, closed []sealedRow
			err := r.page(ctx, func(t pgx.Tx, keys *secret.Keys) (err error) {
				if rows, err = c.olderPage(ctx, t, r.org, keys, last); err != nil {
					return err
				}
				closed, err = c.reseal(ctx, t, r.org, keys, rows)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s.%s: %w", c.Table, c.Column.Column, err)
			}
			if more = len(rows) == resealPage; more {
				last = rows[len(rows)-1].key
			}
			if len(closed) > 0 && r.unreadable == 0 {
				r.first = fmt.Sprintf("%s.%s %s", c.Table, c.Column.Column, strings.Join(closed[0].row, ", "))
			}
			r.unreadable += len(closed)
			r.done += len(rows) - len(closed)
			r.report()
		}
	}
	return nil
}

func (r *resealer) report() {
	if r.progress != nil {
		r.progress(r.done, r.total)
	}
}

// page runs fn in a transaction of its own that holds the keys as they are.
func (r *resealer) page(ctx context.Context, fn func(pgx.Tx, *secret.Keys) error) error {
	return r.store.db.InOrg(ctx, r.org, postgres.TxOptions{StatementTimeout: rotationTimeout}, func(t pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue(writePlans)
		b.Queue(`SELECT pg_advisory_xact_lock_shared($1, $2)`, postgres.KeysLock, keysLock(r.org))
		if err := t.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		keys, err := r.store.keysOf(ctx, t, r.org)
		if err != nil {
			return err
		}
		return fn(t, keys)
	})
}

// olderPage gives a page of rows that an older key sealed, behind the key of the last, and holds them.
func (c sealedColumn) olderPage(ctx context.Context, t pgx.Tx, org uuid.UUID, keys *secret.Keys, last []string) ([]sealedRow, error) {
	args := []any{org, keys.Prefix(), resealPage}
	if last != nil {
		args = append(args, last)
	}
	rows, err := t.Query(ctx, c.page(last == nil), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (sealedRow, error) {
		var r sealedRow
		return r, row.Scan(&r.key, &r.row, &r.sealed)
	})
}

// reseal seals rows by the newest key and gives those that do not open.
func (c sealedColumn) reseal(ctx context.Context, t pgx.Tx, org uuid.UUID, keys *secret.Keys, rows []sealedRow) (closed []sealedRow, err error) {
	var sealed [][]byte
	parts := make([][]string, len(c.Key))
	for _, r := range rows {
		plain, err := keys.Open(c.Location(r.row), r.sealed)
		if err != nil {
			closed = append(closed, r)
			continue
		}
		anew, err := keys.Seal(c.Location(r.row), plain)
		if err != nil {
			return nil, err
		}
		sealed = append(sealed, anew)
		for k := range parts {
			parts[k] = append(parts[k], r.key[k])
		}
	}
	if len(sealed) == 0 {
		return closed, nil
	}
	args := []any{org, sealed}
	for _, p := range parts {
		args = append(args, p)
	}
	_, err = t.Exec(ctx, c.update(), args...)
	return closed, err
}

// RewrapMaster wraps an organization's keysets by the newest key of master, which must hold the one that wraps them now.
func (s *Store) RewrapMaster(ctx context.Context, master *secret.Master, org uuid.UUID) error {
	err := s.changeKeys(ctx, org, func(_ pgx.Tx, stored secret.Wrapped) (secret.Wrapped, error) {
		w, _, err := master.Rewrap(org, stored)
		return w, err
	})
	if err == nil {
		s.master.use(master)
	}
	return wrapRotation("wrap anew the keys of", org, err)
}

// changeKeys changes an organization's keysets while nobody writes in it. change gets them and gives what is to be stored;
// what it does to the database happens together with that or not at all. When it gives back the same nothing is stored. It
// may be run again after a lost race.
func (s *Store) changeKeys(ctx context.Context, org uuid.UUID, change func(pgx.Tx, secret.Wrapped) (secret.Wrapped, error)) error {
	return s.db.InOrg(ctx, org, postgres.TxOptions{StatementTimeout: rotationTimeout}, func(t pgx.Tx) error {
		if _, err := t.Exec(ctx, `SELECT pg_advisory_xact_lock($1, $2)`, postgres.KeysLock, keysLock(org)); err != nil {
			return err
		}
		stored, err := readKeysets(ctx, t, org)
		if err != nil {
			return err
		}
		w, err := change(t, stored.Wrapped)
		if err != nil || w.Equal(stored.Wrapped) {
			return err
		}
		_, err = t.Exec(ctx, `UPDATE organizations SET master_key_id = $2, data_keyset = $3, index_keyset = $4, key_generation = key_generation + 1
			WHERE org_id = $1`, org, w.MasterKeyID, w.Data, w.Index)
		return err
	})
}

func wrapRotation(what string, org uuid.UUID, err error) error {
	if err != nil {
		return fmt.Errorf("%s organization %s: %w", what, org, err)
	}
	return nil
}
