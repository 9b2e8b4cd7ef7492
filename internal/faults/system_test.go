package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

const (
	perServer = 4  // clients that work on a server all the time
	crowd     = 12 // clients that come to a server besides when its connections are to run out
	// processors of a server, whatever the machine has: the number of its connections follows from it, and is 8.
	processors = 2
)

// system is what is put under faults: the embedded database, with full durability; a server that keeps it running, as on a
// laptop; a second server that reaches it over a network; and clients of both.
type system struct {
	t        *testing.T
	cluster  *embedded.Cluster
	dsns     embedded.DSNs
	settings []string // for commands that work on the database at hand
	near     *server
	far      *server
	network  *network
	store    *store.Store
	service  *memory.Service // the database, past both servers
	admin    memory.Caller
	seed     uint64

	gate     sync.RWMutex // held while nobody may be in the middle of a call
	writers  []*writer    // of the current round
	canaries []*writer    // asked when everything should be well again
	crowded  []*writer
	project  uuid.UUID
	done     []*round
}

// round is a project with everybody who wrote into it.
type round struct {
	project uuid.UUID
	writers []*writer
}

// newSystem starts everything in a data folder of its own; dir is where that is made.
func newSystem(t *testing.T, dir string, seed uint64) *system {
	t.Helper()
	s := &system{t: t, seed: seed}
	data, key := filepath.Join(dir, "stele"), filepath.Join(dir, "master.key")
	s.settings = []string{"STELE_DATA_DIR=" + data, "STELE_MASTER_KEY_FILE=" + key, "XDG_CONFIG_HOME=" + dir, "STELE_USER=operator", fmt.Sprintf("GOMAXPROCS=%d", processors)}
	s.cluster = pgtest.NewCluster(t, embedded.Config{DataDir: data, Supervisor: []string{program(t), "db", "run"}})
	s.near = newServer(t, "the server that keeps the database", s.settings...)
	s.near.start()

	ctx := t.Context()
	var err error
	s.dsns, err = s.cluster.Start(ctx)
	s.must(err)
	status, err := s.cluster.Status(ctx)
	s.must(err)
	s.network = newNetwork(t, filepath.Join(status.SocketDir, ".s.PGSQL.5432"))
	s.far = newServer(t, "the server behind a network", "STELE_DATABASE_URL="+s.network.through(t, s.dsns.App), "STELE_MASTER_KEY_FILE="+key, "XDG_CONFIG_HOME="+dir, fmt.Sprintf("GOMAXPROCS=%d", processors))
	s.far.start()

	db, err := postgres.Open(ctx, postgres.Config{URL: s.dsns.App, BeforeConnect: s.cluster.Ensure})
	s.must(err)
	t.Cleanup(db.Close)
	master, _, err := secret.LoadMaster("", key)
	s.must(err)
	s.store = store.New(db, master)
	s.service = memory.New(s.store, memory.Options{})
	org, err := s.service.EnsureOrganization(ctx, memory.DefaultOrganization)
	s.must(err)
	s.admin = memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	return s
}

func (s *system) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) servers() []*server { return []*server{s.near, s.far} }

// begin makes a project for a round and everybody who will write into it.
func (s *system) begin(name string) {
	s.t.Helper()
	p, err := s.service.CreateProject(s.t.Context(), s.admin, name, nil)
	s.must(err)
	s.project = p.ID
	by := memory.Caller{Project: p.ID}
	s.writers, s.canaries, s.crowded = nil, nil, nil
	n := 0
	made := func(on *server) *writer {
		n++
		token, err := s.service.CreateToken(s.t.Context(), s.admin, memory.TokenRequest{Name: fmt.Sprintf("%s-%d", name, n), Role: memory.RoleReviewer})
		s.must(err)
		return newWriter(s.t, on, n, s.seed, token.Text, by)
	}
	for _, server := range s.servers() {
		for range perServer {
			s.writers = append(s.writers, made(server))
		}
		s.canaries = append(s.canaries, made(server))
		for range crowd {
			s.crowded = append(s.crowded, made(server))
		}
	}
	s.done = append(s.done, &round{p.ID, slices.Concat(s.writers, s.canaries, s.crowded)})
}

// during lets the clients work while f runs, and returns when no call is under way any more.
func (s *system) during(f func()) {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	for _, w := range s.writers {
		all.Go(func() { w.work(ctx, &s.gate) })
	}
	// Calls that are under way come to their end first: what is given up half way would be in doubt.
	defer func() {
		s.gate.Lock()
		stop()
		s.gate.Unlock()
		all.Wait()
	}()
	f()
}

// progress waits until every client of these servers has been told of another write.
func (s *system) progress(servers ...*server) {
	s.t.Helper()
	for _, w := range s.writers {
		if slices.Contains(servers, w.server) {
			goal := w.acknowledged.Load() + 1
			await(s.t, fmt.Sprintf("client %d of %s writes", w.n, w.server.name), func() bool { return w.acknowledged.Load() >= goal })
		}
	}
}

// recovered waits until both servers say that they are ready and take and find a new fact, and tells how long that took.
func (s *system) recovered(since time.Time) time.Duration {
	s.t.Helper()
	for _, server := range s.servers() {
		await(s.t, server.name+" is ready", func() bool { return server.ready(s.t.Context()) })
	}
	for _, w := range s.canaries {
		w.remember(s.t.Context(), nil)
		w.recall(s.t.Context(), w.facts[len(w.facts)-1])
	}
	return time.Since(since)
}

// connect gives a connection as the superuser, which breaks when the database does.
func (s *system) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return pgx.Connect(ctx, s.dsns.Admin)
}

// verify compares what clients were told with what is there, in one round's project. Nothing else may be there.
func (s *system) verify(r *round) (acknowledged, facts int64) {
	s.t.Helper()
	stored := map[string]memory.Memory{}
	by := s.admin
	by.Project = r.project
	for q := (memory.ListRequest{Status: "all", Limit: 100}); ; {
		page, err := s.service.List(s.t.Context(), by, q)
		s.must(err)
		for _, m := range page.Memories {
			if other, twice := stored[m.Content]; twice {
				s.t.Errorf("%q is there as %s and as %s", m.Content, other.Handle, m.Handle)
			}
			stored[m.Content] = m
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			break
		}
	}
	for _, w := range r.writers {
		acknowledged += w.acknowledged.Load()
		for _, f := range w.facts {
			facts++
			m, ok := stored[f.content]
			if !ok {
				s.t.Errorf("%s was acknowledged by %s and is lost: %q", f.handle, w.server.name, f.content)
				continue
			}
			delete(stored, f.content)
			got := fact{m.Handle, m.Content, f.word, slices.Sorted(slices.Values(m.Tags)), m.Confirmations, m.Status}
			want := *f
			want.tags = slices.Sorted(slices.Values(f.tags))
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(fact{})); diff != "" {
				s.t.Errorf("%s is not what %s was told (-told +stored):\n%s", f.handle, w.server.name, diff)
			}
		}
	}
	for _, m := range stored {
		s.t.Errorf("%s is stored and nobody was told so: %q", m.Handle, m.Content)
	}
	return acknowledged, facts
}

// whole asks what `stele doctor --deep` asks, without a process of its own, and gives how many statements about the data hold.
func (s *system) whole() (hold int) {
	s.t.Helper()
	found, err := s.store.Invariants(s.t.Context(), s.admin.Org, 0)
	s.must(err)
	for _, i := range found {
		if i.Broken > 0 {
			s.t.Errorf("it is not so that %s: %d of %d, %v", i.Claim, i.Broken, i.Checked, i.Subjects)
			continue
		}
		hold++
	}
	return hold
}

// doctored is the part of `stele doctor --deep --json` that tells about the data.
type doctored struct {
	Deep []struct {
		Name       string             `json:"name"`
		Problem    string             `json:"problem"`
		Invariants []memory.Invariant `json:"invariants"`
	} `json:"deep"`
}

// doctor looks through all data as people do, and gives how many statements about it were looked at.
func doctor(t *testing.T, settings []string) int {
	t.Helper()
	broken, looked := examine(t, settings)
	for _, id := range slices.Sorted(maps.Keys(broken)) {
		t.Errorf("stele doctor --deep finds %s broken: %v", id, broken[id])
	}
	return looked
}

// examine runs `stele doctor --deep --json`: the subjects of each statement that is contradicted, and how many were not.
func examine(t *testing.T, settings []string) (broken map[string][]string, looked int) {
	t.Helper()
	cmd := command(t.Context(), t, settings, "doctor", "--deep", "--json")
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output() // fails also where something else of this machine is not as it should be
	var d doctored
	if jerr := json.Unmarshal(out, &d); jerr != nil || len(d.Deep) == 0 {
		t.Fatalf("stele doctor --deep --json: %v, %v: %s%s", err, jerr, out, told.String())
	}
	broken = map[string][]string{}
	for _, org := range d.Deep {
		if org.Problem != "" {
			t.Errorf("%s could not be looked through: %s", org.Name, org.Problem)
		}
		for _, i := range org.Invariants {
			if looked++; i.Broken > 0 {
				broken[i.ID] = append(broken[i.ID], i.Subjects...)
			}
		}
	}
	if looked == 0 {
		t.Error("stele doctor --deep looked at nothing")
	}
	return broken, looked
}
