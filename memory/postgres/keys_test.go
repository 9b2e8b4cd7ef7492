package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// keysStore is a Store with one organization.
func keysStore(t *testing.T) (*Store, *secret.Master, uuid.UUID) {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := New(pgtest.New(t), master)
	org, err := s.CreateOrganization(context.Background(), "o", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s, master, org
}

func soon[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("waited a minute for %s", what)
		panic("unreachable")
	}
}

// What changes keysets waits for the writers that use them.
func TestChangeOfKeysWaitsForWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, master, org := keysStore(t)
	newer, err := master.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	if err := s.Write(ctx, org, spaces, func(memory.Tx) error { return nil }); err != nil { // whoever makes a space holds more
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"data":   func() error { return s.RotateData(ctx, org, nil) },
		"index":  func() error { return s.RotateIndex(ctx, org, nil) },
		"master": func() error { return s.RewrapMaster(ctx, newer, org) },
	} {
		began, proceed, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			written <- s.Write(ctx, org, spaces, func(memory.Tx) error {
				close(began)
				<-proceed
				return nil
			})
		}()
		soon(t, "the writer", began)
		changed := make(chan error, 1)
		go func() { changed <- change() }()
		for waiting, limit := false, time.Now().Add(time.Minute); !waiting && len(changed) == 0; {
			waiting = waitsForKeys(t, s, org)
			if time.Now().After(limit) {
				t.Fatal("the change neither waits nor ends")
			}
		}
		if len(changed) > 0 {
			t.Errorf("%s: keys were changed under a writer: %v", name, <-changed)
			changed <- nil
		}
		close(proceed)
		for what, from := range map[string]chan error{"the write": written, "the change": changed} {
			if err := soon(t, what, from); err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
	}
}

// waitsForKeys tells whether somebody waits for the lock of the organization's keys.
func waitsForKeys(t *testing.T, s *Store, org uuid.UUID) (waiting bool) {
	t.Helper()
	err := s.db.InOrg(context.Background(), org, postgres.TxOptions{ReadOnly: true}, func(tx pgx.Tx) error {
		return tx.QueryRow(context.Background(), `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND classid = $1 AND objid = $2 AND objsubid = 2)`, uint32(postgres.KeysLock), uint32(keysLock(org))).Scan(&waiting)
	})
	if err != nil {
		t.Fatal(err)
	}
	return waiting
}

// Writers that wait for keys hold no connection; one whose caller gives up is answered at once, the others when it is over.
func TestWritersWaitForKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, _, org := keysStore(t)
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	const writers = 3
	patient, impatient := make(chan error, writers), make(chan error, writers)
	err := s.changeKeys(ctx, org, func(_ pgx.Tx, w secret.Wrapped) (secret.Wrapped, error) {
		gone, giveUp := context.WithCancel(ctx)
		defer giveUp()
		for range writers {
			go func() { patient <- s.Write(ctx, org, spaces, func(memory.Tx) error { return nil }) }()
			go func() { impatient <- s.Write(gone, org, spaces, func(memory.Tx) error { return nil }) }()
		}
		key := groupKey{org: org, spaces: fmt.Sprintf("%q", spaces)}
		queued := func() (n int) {
			s.groups.mu.Lock()
			defer s.groups.mu.Unlock()
			if q := s.groups.queues[key]; q != nil {
				n = len(q.jobs)
			}
			return n
		}
		for _, want := range []int{2 * writers, 0, 2 * writers} { // all were tried, and are in the queue again
			for queued() != want {
				runtime.Gosched()
			}
		}
		giveUp()
		for range writers {
			if err := soon(t, "a writer that gave up", impatient); !errors.Is(err, context.Canceled) {
				t.Errorf("it gave up and got %v", err)
			}
		}
		if len(patient) > 0 {
			t.Errorf("a writer ended while keys were changed: %v", <-patient)
		}
		return w, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range writers {
		if err := soon(t, "a writer", patient); err != nil {
			t.Errorf("a writer that waited: %v", err)
		}
	}
	if len(s.groups.queues) != 0 {
		t.Errorf("%d queues are kept though nobody writes", len(s.groups.queues))
	}
}

// A long read goes on with the keys of its snapshot when they change under it, and others with those of theirs.
func TestReadersKeepTheirKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, master, org := keysStore(t)
	other := New(s.db, master)
	err := other.View(ctx, org, func(v memory.View) error {
		before := v.(*view).keys.IndexID()
		if err := s.RotateIndex(ctx, org, nil); err != nil {
			return err
		}
		if err := other.View(ctx, org, func(later memory.View) error {
			if _, err := later.Spaces(ctx, nil); err != nil {
				return err
			}
			if later.(*view).keys.IndexID() == before {
				t.Error("a read that began after the change has the keys of before")
			}
			return nil
		}); err != nil {
			return err
		}
		keys, err := other.keysOf(ctx, v.(*view).tx, org)
		if err == nil && keys.IndexID() != before {
			t.Error("a snapshot of before the change is read with the keys of after it")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A restored backup takes keysets back to what they were, and the next change makes others than those that a server has seen:
// it must not go on with keys that exist nowhere else.
func TestKeysAfterRestore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, master, org := keysStore(t)
	server := New(s.db, master)
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	place := secret.Location{Table: "remarks", Column: "body", Row: secret.Row(uuid.New())}
	seal := func() (sealed []byte) {
		t.Helper()
		err := server.Write(ctx, org, spaces, func(w memory.Tx) (err error) {
			sealed, err = w.(*tx).keys.Seal(place, []byte("x"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	rotations := map[string]func() error{
		"data":  func() error { return s.RotateData(ctx, org, nil) },
		"index": func() error { return s.RotateIndex(ctx, org, nil) },
	}
	for name, rotate := range rotations {
		backup := storedKeysets(t, s, org)
		if err := rotate(); err != nil {
			t.Fatal(err)
		}
		seal() // the server has the new keys
		err := s.db.InOrg(ctx, org, postgres.TxOptions{}, func(t pgx.Tx) error {
			_, err := t.Exec(ctx, `UPDATE organizations SET key_generation = $2, master_key_id = $3, data_keyset = $4, index_keyset = $5 WHERE org_id = $1`,
				org, backup.changes, backup.MasterKeyID, backup.Data, backup.Index)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := rotate(); err != nil {
			t.Fatal(err)
		}
		sealed := seal()
		keys, err := master.OpenKeys(org, storedKeysets(t, s, org).Wrapped)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Open(place, sealed); err != nil {
			t.Errorf("%s: what a server seals after the restore is lost: %v", name, err)
		}
		err = server.View(ctx, org, func(v memory.View) error {
			if _, err := v.Spaces(ctx, nil); err != nil {
				return err
			}
			if got := v.(*view).keys.IndexID(); got != keys.IndexID() {
				t.Errorf("%s: a server reads with index key %s, stored is %s", name, got, keys.IndexID())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func storedKeysets(t *testing.T, s *Store, org uuid.UUID) (k keysets) {
	t.Helper()
	err := s.db.InOrg(context.Background(), org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) (err error) {
		k, err = readKeysets(context.Background(), t, org)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}
