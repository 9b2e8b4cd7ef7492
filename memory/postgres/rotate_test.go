package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// replica is one server of several on a database: its own connections, caches and master key as it read it at its start.
type replica struct {
	*memory.Service
	store *store.Store
}

// site is a database with one organization full of sealed texts, and the file of its master key.
type site struct {
	t        *testing.T
	database pgtest.Database
	keyFile  string
	now      time.Time
	caller   memory.Caller
	facts    []memory.Memory // live, each with a word of its own: its title
}

func newSite(t *testing.T, facts int) *site {
	t.Helper()
	s := &site{t: t, database: pgtest.NewDatabase(t), keyFile: filepath.Join(t.TempDir(), "master.key"), now: time.Now().UTC().Truncate(time.Second)}
	_, _, err := secret.LoadOrCreateMasterFile(s.keyFile)
	s.must(err)
	s.fill(s.replica(), facts)
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) load() (*secret.Master, error) { return secret.LoadMasterFile(s.keyFile) }

func (s *site) master() *secret.Master {
	s.t.Helper()
	m, err := s.load()
	s.must(err)
	return m
}

// replica starts another server. It reads the master key anew when it must, unless options say otherwise.
func (s *site) replica(options ...func(*postgres.Config)) replica {
	s.t.Helper()
	return s.replicaWith(s.master(), options, store.ReloadMaster(s.load))
}

func (s *site) replicaWith(master *secret.Master, configure []func(*postgres.Config), options ...store.Option) replica {
	s.t.Helper()
	cfg := postgres.Config{URL: s.database.App}
	for _, c := range configure {
		c(&cfg)
	}
	db, err := postgres.Open(context.Background(), cfg)
	s.must(err)
	s.t.Cleanup(db.Close)
	r := replica{store: store.New(db, master, options...)}
	r.Service = memory.New(r.store, memory.Options{Now: func() time.Time { return s.now }})
	return r
}

// word is a word of letters that is one term, another for every number.
func word(i int) string {
	var b strings.Builder
	for range 5 {
		b.WriteByte("bdfgklmnprtvz"[i%13])
		b.WriteByte("aou"[i/13%3])
		i /= 39
	}
	return b.String() + "k"
}

// fill writes memories with everything that is sealed or hashed: titles, reasons, tags, links, doubts, remarks, answers to
// retries, import keys, memories that were superseded, retired, have expired or were renamed with their element.
func (s *site) fill(r replica, facts int) {
	s.t.Helper()
	ctx := context.Background()
	org, err := r.EnsureOrganization(ctx, "shop")
	s.must(err)
	s.caller = memory.Caller{Org: org, User: "kim", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := r.CreateProject(ctx, s.caller, "shop", nil)
	s.must(err)
	s.caller.Project = p.ID
	for _, name := range []string{"Till", "Counter"} { // renamed: the index of its memories has the new name
		_, err = r.ImportModel(ctx, s.caller, memory.ModelImport{Model: &c4model.Model{
			Elements: []c4model.Element{{Key: "shop", Name: "Shop", Level: c4model.System}, {Key: "shop.till", Name: name, Level: c4model.Container, Parent: "shop"}},
		}, Source: "w.dsl"})
		s.must(err)
	}
	for i := range facts {
		c := s.caller
		c.Retry = fmt.Sprintf("fill-%d", i)
		req := memory.RememberRequest{Title: word(i), Content: fmt.Sprintf("%s keeps %s near [[%s]]", word(i), word(1000+i/7), word(i+1)), Why: "the owner of " + word(i) + " said so",
			Tags: []string{"tag" + word(i%3)}, Elements: []string{"shop.till"}, Separate: true, Kind: memory.Kinds[i%3]}
		switch i % 20 {
		case 1:
			req.Scope = memory.Personal
		case 2:
			req.Expires = "12h"
		}
		m, err := r.Remember(ctx, c, req)
		s.must(err)
		c.Retry = ""
		switch i % 20 {
		case 3:
			_, err = r.Forget(ctx, c, memory.ForgetRequest{Memory: m.Memory.Handle, Reason: "gone from " + word(i)})
		case 4:
			_, err = r.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Note: "not so in " + word(i)})
		case 5:
			_, err = r.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: true, Note: "seen in " + word(i)})
		case 6:
			m, err = r.Remember(ctx, c, memory.RememberRequest{Content: word(i) + " keeps more", Title: word(i), Supersedes: m.Memory.Handle})
		case 7:
			tags := []string{"tag" + word(1)}
			_, err = r.Edit(ctx, c, memory.EditRequest{Memory: m.Memory.Handle, Tags: &tags})
		case 8:
			_, err = r.Remember(ctx, c, memory.RememberRequest{Content: word(i) + " came from elsewhere", Separate: true,
				Imported: &memory.Imported{Key: "notes/" + word(i), CreatedAt: s.now, User: "lee", Batch: uuid.NameSpaceURL}})
		}
		s.must(err)
		if k := i % 20; k != 2 && k != 3 {
			s.facts = append(s.facts, m.Memory)
		}
	}
	s.now = s.now.Add(24 * time.Hour) // what expires has expired
}

// look reads all there is, in every way that opens or hashes, as one document.
func (s *site) look(r replica) string {
	s.t.Helper()
	ctx := context.Background()
	var all []any
	list, err := r.List(ctx, s.caller, memory.ListRequest{Status: "all", Limit: memory.MaxLimit})
	s.must(err)
	all = append(all, list)
	for i, m := range list.Memories {
		if i%8 != 0 {
			continue
		}
		h, err := r.History(ctx, s.caller, m.Handle)
		s.must(err)
		found, err := r.Recall(ctx, s.caller, memory.RecallRequest{Query: word(i) + " keeps " + word(1000+i/7), Limit: 20, Explain: true})
		s.must(err)
		all = append(all, h, found)
	}
	for _, q := range []memory.RecallRequest{
		{Query: "counter", Limit: 100, Explain: true}, {Tags: []string{"tag" + word(1)}, Limit: 100}, {Query: "owner", IncludeExpired: true, Limit: 100},
	} {
		found, err := r.Recall(ctx, s.caller, q)
		s.must(err)
		if len(found.Results)+len(found.Index) == 0 {
			s.t.Fatalf("%+v finds nothing: the comparison would see no difference", q)
		}
		all = append(all, found)
	}
	text, err := json.MarshalIndent(all, "", " ")
	s.must(err)
	return string(text)
}

func (s *site) status(r replica) store.KeyStatus {
	s.t.Helper()
	status, err := r.store.KeyStatus(context.Background(), s.caller.Org)
	s.must(err)
	return status
}

// traffic reads and writes through replicas until it is stopped. Every failure is one of the test.
type traffic struct {
	*site
	reads, writes atomic.Int64
	done          chan struct{}
	workers       sync.WaitGroup
}

func (s *site) traffic(replicas ...replica) *traffic {
	l := &traffic{site: s, done: make(chan struct{})}
	for i, r := range slices.Concat(replicas, replicas) {
		l.workers.Go(func() { l.work(func(n int) error { return l.read(r, n*31+i) }, &l.reads) })
		l.workers.Go(func() { l.work(func(n int) error { return l.write(r, i, n) }, &l.writes) })
	}
	s.t.Cleanup(l.stop)
	l.await(20, 5)
	return l
}

func (l *traffic) work(once func(n int) error, count *atomic.Int64) {
	for n := 0; ; n++ {
		select {
		case <-l.done:
			return
		default:
		}
		if err := once(n); err != nil {
			l.t.Error(err)
			return
		}
		count.Add(1)
	}
}

// stop ends the traffic and waits for it. It may be called twice.
func (l *traffic) stop() {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	l.workers.Wait()
}

// await waits until that many more reads and writes have succeeded.
func (l *traffic) await(reads, writes int64) {
	l.t.Helper()
	reads, writes = reads+l.reads.Load(), writes+l.writes.Load()
	waitFor(l.t, "reads and writes", func() bool {
		return l.t.Failed() || (l.reads.Load() >= reads && l.writes.Load() >= writes)
	})
}

// read finds one of the facts by its words and opens it.
func (l *traffic) read(r replica, n int) error {
	ctx := context.Background()
	m := l.facts[n%len(l.facts)]
	found, err := r.Recall(ctx, l.caller, memory.RecallRequest{Query: m.Title, Limit: 5})
	if err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	if !slices.ContainsFunc(found.Results, func(f memory.Result) bool { return f.Handle == m.Handle && f.Content == m.Content }) {
		return fmt.Errorf("%s is there and not found by its word: %+v", m.Handle, found)
	}
	ms, err := r.Get(ctx, l.caller, []string{m.Title}) // by the hash of its title
	if err != nil {
		return fmt.Errorf("get by title: %w", err)
	}
	if ms[0].Handle != m.Handle {
		return fmt.Errorf("%s is found by the title of %s", ms[0].Handle, m.Handle)
	}
	if _, err := r.History(ctx, l.caller, m.Handle); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// write stores a fact, says something about it, reads it and now and then erases it.
func (l *traffic) write(r replica, worker, n int) error {
	ctx := context.Background()
	c := l.caller
	c.Retry = fmt.Sprintf("write-%d-%d", worker, n)
	req := memory.RememberRequest{Content: fmt.Sprintf("worker %s saw %s [[%s]]", word(2000+worker), word(3000+1000*worker+n), word(n)), Separate: true}
	if worker%2 == 1 {
		req.Scope = memory.Personal
	}
	m, err := r.Remember(ctx, c, req)
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	// Erasing destroys the answers that are kept for retries; another worker may just have done so.
	again, err := r.Remember(ctx, c, req)
	if !problem.Is(err, problem.Conflict) && (err != nil || again.Memory.Handle != m.Memory.Handle) {
		return fmt.Errorf("a retry: %s and %s, %w", m.Memory.Handle, again.Memory.Handle, err)
	}
	c.Retry = ""
	if _, err := r.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: n%2 == 0, Note: "worker " + word(n)}); err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	found, err := r.Recall(ctx, c, memory.RecallRequest{Query: word(3000 + 1000*worker + n), Limit: 5})
	if err != nil || !slices.ContainsFunc(found.Results, func(f memory.Result) bool { return f.Handle == m.Memory.Handle }) {
		return fmt.Errorf("%s was just stored and is not found: %+v, %w", m.Memory.Handle, found, err)
	}
	if n%5 == 0 {
		if _, err := r.Forget(ctx, c, memory.ForgetRequest{Memory: m.Memory.Handle, Erase: true}); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
	}
	return nil
}

// Two replicas read and write while a third changes the data key: nothing fails, and afterwards the old key opens nothing.
func TestRotateDataUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, 210)
	a, b, operator := s.replica(), s.replica(), s.replica()
	before := s.status(a)
	l := s.traffic(a, b)
	steps, last := 0, 0
	s.must(operator.store.RotateData(context.Background(), s.caller.Org, func(done, total int) {
		if done < last || done > total {
			t.Errorf("progress went from %d to %d of %d", last, done, total)
		}
		if last = done; steps%4 == 0 {
			l.await(4, 2) // so that every step meets traffic
		}
		steps++
	}))
	l.await(20, 5)
	l.stop()
	if last < 210 || steps < 8 {
		t.Errorf("%d texts in %d steps: that was no rotation of everything", last, steps)
	}
	after := s.status(a)
	want := store.KeyStatus{Generation: before.Generation + 2, MasterKey: before.MasterKey, IndexKey: before.IndexKey, DataKeys: 1}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
	fresh := s.replica() // it never had the old key
	if err := l.read(fresh, 3); err != nil {
		t.Error(err)
	}
}

// What is read is the same before and after every kind of rotation, through caches that were warm and cold ones.
func TestRotationChangesNothingReaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, 60)
	one := func(c *postgres.Config) { c.MaxConns = 1 } // every read finds what its connection kept
	warm, operator := s.replica(one), s.replica()
	ctx := context.Background()
	want := s.look(warm)
	for name, rotate := range map[string]func() error{
		"data":  func() error { return operator.store.RotateData(ctx, s.caller.Org, nil) },
		"index": func() error { return operator.store.RotateIndex(ctx, s.caller.Org, nil) },
		"master": func() error {
			m, err := secret.UpdateMasterFile(s.keyFile, (*secret.Master).Rotate)
			if err != nil {
				return err
			}
			return operator.store.RewrapMaster(ctx, m, s.caller.Org)
		},
	} {
		generation := s.status(warm).Generation
		s.must(rotate())
		if s.status(warm).Generation == generation {
			t.Errorf("%s: the generation is still %d", name, generation)
		}
		if diff := cmp.Diff(want, s.look(warm)); diff != "" {
			t.Errorf("%s, warm replica (-before +after):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, s.look(s.replica())); diff != "" {
			t.Errorf("%s, new replica (-before +after):\n%s", name, diff)
		}
	}
	s.sameRules(warm)
}

// sameRules checks what hashes decide when something is written: titles, restatements, links, import keys, what comes back.
func (s *site) sameRules(r replica) {
	s.t.Helper()
	ctx := context.Background()
	m := s.facts[0]
	if _, err := r.Remember(ctx, s.caller, memory.RememberRequest{Title: m.Title, Content: "another text", Separate: true}); !problem.Is(err, problem.Conflict) {
		s.t.Errorf("a second memory of one title: %v, want a conflict", err)
	}
	again, err := r.Remember(ctx, s.caller, memory.RememberRequest{Content: m.Content, Kind: m.Kind})
	s.must(err)
	if !again.Deduplicated || again.Memory.Handle != m.Handle {
		s.t.Errorf("the text of %s again became %s, deduplicated %v", m.Handle, again.Memory.Handle, again.Deduplicated)
	}
	imported, err := r.Remember(ctx, s.caller, memory.RememberRequest{Content: "the same record, changed there", Separate: true,
		Imported: &memory.Imported{Key: "notes/" + word(8), CreatedAt: s.now, User: "lee", Batch: uuid.NameSpaceDNS}})
	s.must(err)
	if !strings.Contains(imported.Memory.Content, "came from elsewhere") {
		s.t.Errorf("a record that was imported before is imported again: %+v", imported.Memory)
	}
	ms, err := r.Get(ctx, s.caller, []string{m.Handle})
	s.must(err)
	if links := ms[0].Links; len(links) != 1 || links[0].Kind != "memory" {
		s.t.Errorf("links of %s: %+v, want one to a memory", m.Handle, links)
	}
	gone, err := r.List(ctx, s.caller, memory.ListRequest{Status: memory.Retired, Limit: 1})
	s.must(err)
	back, err := r.Restore(ctx, s.caller, gone.Memories[0].Handle)
	s.must(err)
	found, err := r.Recall(ctx, s.caller, memory.RecallRequest{Query: back.Title, Limit: 3})
	s.must(err)
	if !slices.ContainsFunc(found.Results, func(f memory.Result) bool { return f.Handle == back.Handle }) {
		s.t.Errorf("%s was restored and is not found", back.Handle)
	}
}

// While the index is built anew, readers find everything and writers wait; when it is done the writers go on.
func TestRotateIndexUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, 210)
	a, b, operator := s.replica(), s.replica(), s.replica()
	before := s.status(a)
	l := s.traffic(a, b)
	var written int64
	s.must(operator.store.RotateIndex(context.Background(), s.caller.Org, func(done, _ int) {
		if done == 0 {
			l.await(4, 0)
			written = l.writes.Load() // a write that had its answer only to be counted is counted by now
		}
		l.await(8, 0)
		if n := l.writes.Load(); n > written {
			t.Errorf("%d writes were done while the index was built", n-written)
		}
	}))
	l.await(20, 10)
	l.stop()
	after := s.status(a)
	if after.IndexKey == before.IndexKey || after.Generation != before.Generation+1 {
		t.Errorf("from %+v to %+v: the index key is not another", before, after)
	}
	for i := 0; i < len(s.facts); i += 5 {
		if err := l.read(b, i); err != nil {
			t.Fatal(err)
		}
	}
}

// A row that a writer holds while everything else is sealed anew is not forgotten: the old key stays until it is done.
func TestRotateDataWaitsForARow(t *testing.T) {
	t.Parallel()
	s := newSite(t, 5)
	ctx := context.Background()
	r, operator := s.replica(), s.replica()
	admin := s.database.ConnectAdmin(t)
	held, err := admin.Begin(ctx)
	s.must(err)
	_, err = held.Exec(ctx, `SELECT 1 FROM memory_versions WHERE memory_id = $1 FOR UPDATE`, s.facts[0].ID)
	s.must(err)
	rotated := make(chan error, 1)
	go func() { rotated <- operator.store.RotateData(ctx, s.caller.Org, nil) }()
	waitFor(t, "the held row to be the last", func() bool {
		status := s.status(r)
		return len(rotated) > 0 || (status.DataKeys == 2 && status.SealedOlder == 1)
	})
	s.must(held.Commit(ctx))
	s.must(<-rotated)
	if status := s.status(r); status.DataKeys != 1 || status.SealedOlder != 0 {
		t.Errorf("afterwards: %+v", status)
	}
	_, err = r.Get(ctx, s.caller, []string{s.facts[0].Handle})
	s.must(err)
}

// A rotation that was interrupted leaves everything readable, and the next one finishes it.
func TestInterruptedRotation(t *testing.T) {
	t.Parallel()
	s := newSite(t, 210)
	a, operator := s.replica(), s.replica()
	before, want := s.status(a), s.look(a)
	total := 0
	interrupted := func(rotate func(context.Context, uuid.UUID, func(int, int)) error) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		err := rotate(ctx, s.caller.Org, func(done, all int) {
			if total = all; done > 0 && done < total {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("an interrupted rotation: %v", err)
		}
	}

	interrupted(operator.store.RotateIndex)
	if diff := cmp.Diff(before, s.status(a)); diff != "" {
		t.Errorf("an index that was not finished left (-before +after):\n%s", diff)
	}
	interrupted(operator.store.RotateData)
	middle := s.status(a)
	if middle.DataKeys != 2 || middle.SealedOlder == 0 || middle.SealedOlder >= total {
		t.Errorf("in the middle: %+v, want two data keys and some texts of the old one", middle)
	}
	if diff := cmp.Diff(want, s.look(a)); diff != "" {
		t.Errorf("in the middle (-before +after):\n%s", diff)
	}
	s.must(s.replica().store.RotateData(context.Background(), s.caller.Org, nil))
	if after := s.status(a); after.DataKeys != 1 || after.SealedOlder != 0 || after.Generation != before.Generation+2 {
		t.Errorf("afterwards: %+v, want the rotation that was begun to be finished, and no other", after)
	}
	if diff := cmp.Diff(want, s.look(a)); diff != "" {
		t.Errorf("afterwards (-before +after):\n%s", diff)
	}
}

// The master key changes in the file that servers share, while they serve; then the old one is removed.
func TestRotateMasterUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, 20)
	ctx := context.Background()
	a, b, operator := s.replica(), s.replica(), s.replica()
	old := s.master()
	l := s.traffic(a, b)

	both, err := secret.UpdateMasterFile(s.keyFile, (*secret.Master).Rotate)
	s.must(err)
	l.await(10, 4)
	other, err := b.EnsureOrganization(ctx, "made meanwhile")
	s.must(err)
	counts, err := operator.store.MasterKeys(ctx)
	s.must(err)
	if diff := cmp.Diff(map[string]int{old.KeyID(): 1, both.KeyID(): 1}, counts); diff != "" {
		t.Errorf("a new organization is locked by another than the newest key (-want +got):\n%s", diff)
	}
	orgs, err := operator.store.OrganizationIDs(ctx)
	s.must(err)
	for _, org := range orgs {
		s.must(operator.store.RewrapMaster(ctx, both, org))
		l.await(10, 4)
	}
	counts, err = operator.store.MasterKeys(ctx)
	s.must(err)
	if diff := cmp.Diff(map[string]int{both.KeyID(): 2}, counts); diff != "" {
		t.Errorf("organizations by master key (-want +got):\n%s", diff)
	}
	if _, err := a.store.Projects(ctx, other); err != nil {
		t.Errorf("an organization that another server made: %v", err)
	}

	only, err := secret.UpdateMasterFile(s.keyFile, func(m *secret.Master) (*secret.Master, error) { return m.Keep(both.KeyID()) })
	s.must(err)
	if only.Knows(old.KeyID()) {
		t.Error("the old master key is still in the file")
	}
	l.await(10, 4)
	fresh := s.replica()
	if err := l.read(fresh, 1); err != nil {
		t.Errorf("without the old key: %v", err)
	}
	s.must(fresh.store.CheckKeys(ctx))
	l.stop()

	// A server that still has the old key, and cannot read it anew, says which it needs.
	stale := s.replicaWith(old, nil)
	for what, err := range map[string]error{"check": stale.store.CheckKeys(ctx), "read": l.read(stale, 1)} {
		if p, ok := problem.As(err); !ok || p.Code != problem.Unavailable || !strings.Contains(p.Detail, both.KeyID()) || len(p.Fixes) == 0 {
			t.Errorf("%s with the old key: %v, want a problem that names key %s and a fix", what, err, both.KeyID())
		}
	}
}

// Wrong keys are noticed before anything is served, and nothing but ids of keys is told.
func TestCheckKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	ctx := context.Background()
	r := s.replica()
	s.must(r.store.CheckKeys(ctx))
	if _, err := r.EnsureOrganization(ctx, "second"); err != nil {
		t.Fatal(err)
	}
	s.must(s.replica().store.CheckKeys(ctx))

	wrong, err := secret.GenerateMaster()
	s.must(err)
	unavailable := func(what string, err error, words ...string) {
		t.Helper()
		p, ok := problem.As(err)
		if !ok || p.Code != problem.Unavailable || len(p.Fixes) == 0 {
			t.Errorf("%s: %v, want a problem with a fix", what, err)
			return
		}
		for _, w := range words {
			if !strings.Contains(p.Error(), w) {
				t.Errorf("%s: %q lacks %q", what, p, w)
			}
		}
		if strings.Contains(p.Error(), s.caller.Org.String()) {
			t.Errorf("%s: %q names an organization", what, p)
		}
	}
	unavailable("another key", s.replicaWith(wrong, nil).store.CheckKeys(ctx), wrong.KeyID(), s.master().KeyID())
	s.must(s.replicaWith(wrong, nil, store.ReloadMaster(s.load)).store.CheckKeys(ctx)) // it was put right meanwhile

	key, err := os.ReadFile(s.keyFile)
	s.must(err)
	s.must(os.WriteFile(s.keyFile, key[:len(key)-20], 0o600))
	unavailable("a truncated file", s.replicaWith(wrong, nil, store.ReloadMaster(s.load)).store.CheckKeys(ctx), s.keyFile)
	s.must(os.Remove(s.keyFile))
	unavailable("a lost file", s.replicaWith(wrong, nil, store.ReloadMaster(s.load)).store.CheckKeys(ctx), s.keyFile)
	s.must(os.WriteFile(s.keyFile, key, 0o600))

	admin := s.database.ConnectAdmin(t)
	if _, err := admin.Exec(ctx, `UPDATE organizations SET data_keyset = index_keyset WHERE org_id = $1`, s.caller.Org); err != nil {
		t.Fatal(err)
	}
	unavailable("an altered keyset", s.replica().store.CheckKeys(ctx), "altered", "backup")
}
