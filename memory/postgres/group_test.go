package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// Writers that wait for one another share a transaction, and none suffers from what becomes of another: one refuses after
// it wrote, one before, one gave up, one takes a key that is taken, and one ends the transaction of all: the caller of "seven", who gives
// up while the server is at work, or "eight", whose connection breaks. With both it would be chance whose was lost first.
func TestGroupKeepsJobsApart(t *testing.T) {
	t.Parallel()
	for name, without := range map[string][]string{
		"a caller who gives up in the middle": {"eight"},
		// What four added may be sent for another, who then cannot tell whose fault it was: each runs by itself, and the one
		// that loses its connection breaks none but its own.
		"a connection that breaks": {"four", "seven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keepsJobsApart(t, without)
		})
	}
}

// writing is a store with one organization.
func writing(t *testing.T) (*Store, uuid.UUID) {
	t.Helper()
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	s := New(pgtest.New(t), master)
	org, err := s.CreateOrganization(t.Context(), "o", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s, org
}

func keepsJobsApart(t *testing.T, without []string) {
	t.Helper()
	ctx := context.Background()
	s, org := writing(t)
	spaces := []memory.SpaceKey{{Scope: memory.Personal, Owner: "u"}}
	c := memory.Caller{Org: org, User: "u"}
	audit := func(ctx context.Context, w memory.Tx, verb string) error {
		return w.Audit(ctx, c, memory.AuditEntry{At: time.Now(), Verb: memory.Verb(verb)})
	}
	refused := errors.New("refused")
	gone, giveUp := context.WithCancel(ctx)
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	jobs := map[string]struct {
		ctx  context.Context //nolint:containedctx // each job has its own caller
		fn   func(memory.Tx) error
		want error
	}{
		"one": {ctx, func(w memory.Tx) error { return audit(ctx, w, "one") }, nil},
		"two": {ctx, func(w memory.Tx) error {
			// Something is read in between, so what was written before is on the server when it refuses.
			if err := audit(ctx, w, "two"); err != nil {
				return err
			}
			if _, err := w.ByHandle(ctx, "m-aaaaaaa"); err != nil {
				return err
			}
			return refused
		}, refused},
		"three": {ctx, func(memory.Tx) error { return refused }, refused},
		"four": {ctx, func(w memory.Tx) error {
			for range 2 { // the same id twice
				w.(*tx).pipeline.queue(fmt.Sprintf(`INSERT INTO audit (org_id, audit_id, at, verb) VALUES ('%s', '%s', '2030-01-01', 'four')`, org, uuid.NameSpaceURL))
			}
			return nil
		}, memory.ErrTaken},
		"five": {gone, func(w memory.Tx) error { return audit(ctx, w, "five") }, context.Canceled},
		"seven": {stopped, func(w memory.Tx) error {
			time.AfterFunc(20*time.Millisecond, stop) // the caller gives up while the server is at work
			_, err := w.(*tx).tx.Exec(stopped, `SELECT pg_sleep(60)`)
			return err
		}, context.Canceled},
		"eight": {ctx, func(w memory.Tx) error { // its connection breaks, and with it the transaction of all
			_, err := w.(*tx).tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
			return err
		}, errRollback},
		"six": {ctx, func(w memory.Tx) error { return audit(ctx, w, "six") }, nil},
	}

	for _, name := range without {
		delete(jobs, name)
	}
	started, proceed := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if err := s.Write(ctx, org, spaces, func(w memory.Tx) error {
			close(started)
			<-proceed
			return audit(ctx, w, "zero")
		}); err != nil {
			t.Error(err)
		}
	})
	<-started
	for name, j := range jobs {
		group.Go(func() {
			err := s.Write(j.ctx, org, spaces, j.fn)
			if !errors.Is(err, j.want) {
				t.Errorf("%s: %v, want %v", name, err, j.want)
			}
		})
	}
	key := groupKey{org: org, spaces: fmt.Sprintf("%q", spaces)}
	for waiting := 0; waiting < len(jobs); {
		s.groups.mu.Lock()
		waiting = len(s.groups.queues[key].jobs)
		s.groups.mu.Unlock()
		runtime.Gosched()
	}
	giveUp()
	for waiting := len(jobs); waiting == len(jobs); { // the one that gave up leaves the queue
		s.groups.mu.Lock()
		waiting = len(s.groups.queues[key].jobs)
		s.groups.mu.Unlock()
		runtime.Gosched()
	}
	close(proceed)
	group.Wait()

	transactions := map[string]string{} // verb → transaction that wrote it
	err := s.db.InOrg(ctx, org, postgres.TxOptions{ReadOnly: true}, func(t pgx.Tx) error {
		rows, err := t.Query(ctx, `SELECT verb, xmin::text FROM audit WHERE org_id = $1`, org)
		if err != nil {
			return err
		}
		var verb, xmin string
		_, err = pgx.ForEachRow(rows, []any{&verb, &xmin}, func() error {
			transactions[verb] = xmin
			return nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(transactions) != 3 || transactions["zero"] == "" || transactions["one"] == "" || transactions["six"] == "" {
		t.Errorf("committed %v, want zero, one and six", transactions)
	}
	if len(s.groups.queues) != 0 {
		t.Errorf("%d queues are kept though nobody writes", len(s.groups.queues))
	}
}

// While as many write as the processors can feed, the writers of another space gather, and share a transaction when one of those has nothing
// left but to wait for the disk. Nobody waits for long for one that is stuck.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, org := writing(t)
	write := func(user string, meanwhile func()) error {
		return s.Write(ctx, org, []memory.SpaceKey{{Scope: memory.Personal, Owner: user}}, func(w memory.Tx) error {
			meanwhile()
			return w.Audit(ctx, memory.Caller{Org: org, User: user}, memory.AuditEntry{At: time.Now(), Verb: memory.Verb(user)})
		})
	}
	for _, user := range []string{"stuck", "others"} { // spaces are made one after the other
		if err := write(user, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	const others = 5
	together := func(patience time.Duration, done func(), proceed <-chan struct{}) (transactions int) {
		t.Helper()
		s.groups.turns, s.groups.patience = make(chan struct{}, 1), patience
		started := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			if err := write("stuck", func() { close(started); <-proceed }); err != nil {
				t.Error(err)
			}
		})
		<-started
		ids := make(chan string, others)
		for range others {
			all.Go(func() {
				if err := s.Write(ctx, org, []memory.SpaceKey{{Scope: memory.Personal, Owner: "others"}}, func(w memory.Tx) error {
					var id string
					err := w.(*tx).tx.QueryRow(ctx, `SELECT pg_current_xact_id()::text`).Scan(&id)
					ids <- id
					return err
				}); err != nil {
					t.Error(err)
				}
			})
		}
		done()
		all.Wait()
		close(ids)
		found := map[string]bool{}
		for id := range ids {
			found[id] = true
		}
		return len(found)
	}
	proceed := make(chan struct{})
	key := groupKey{org: org, spaces: fmt.Sprintf("%q", []memory.SpaceKey{{Scope: memory.Personal, Owner: "others"}})}
	if n := together(time.Hour, func() {
		for waiting := 0; waiting < others; runtime.Gosched() {
			s.groups.mu.Lock()
			if q := s.groups.queues[key]; q != nil {
				waiting = len(q.jobs)
			}
			s.groups.mu.Unlock()
		}
		close(proceed)
	}, proceed); n != 1 {
		t.Errorf("%d writers that waited made %d transactions, want 1", others, n)
	}
	last := make(chan struct{})
	together(time.Millisecond, func() {
		if err := write("others", func() {}); err != nil { // while one is stuck
			t.Error(err)
		}
		close(last)
	}, last)
}
