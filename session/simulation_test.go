package session_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/memory/postgres"
	"github.com/stele-dev/stele/session"
)

// tally is what the sessions of a simulation should have left, counted from what they were told and not from the database.
type tally struct {
	mu          sync.Mutex
	leases      map[string]int             // held, by session
	impressions map[string]int             // memory, session and door → times
	citations   map[string]map[string]bool // memory → sessions
	ignored     map[string]int             // memory → reporting sessions that did not cite it
	outcomes    map[string]bool            // sessions with one
}

func newTally() *tally {
	return &tally{leases: map[string]int{}, impressions: map[string]int{}, citations: map[string]map[string]bool{}, ignored: map[string]int{}, outcomes: map[string]bool{}}
}

func (t *tally) lock(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn()
}

var handles = regexp.MustCompile(`m-[a-z2-7]{7}`)

// agent is one of the simulated, with what it knows of its session.
type agent struct {
	*world
	sessions *session.Service
	memory   *memory.Service
	tally    *tally
	random   *rand.Rand
	caller   memory.Caller

	name   string          // of its session
	leases map[string]bool // elements
	served map[string]bool // whole, by recall
	point  bool            // it made a checkpoint
	over   bool
}

func (a *agent) start(ctx context.Context, elements []string) error {
	out, err := a.sessions.StartSession(ctx, a.caller, session.StartRequest{Task: "work on " + elements[0], Elements: elements, Exclusive: a.random.IntN(4) == 0})
	if err != nil || out.SessionID == "" {
		a.over = true // denied: it goes away
		return err
	}
	a.name, a.leases, a.served = out.SessionID, map[string]bool{}, map[string]bool{}
	for _, l := range out.Leases {
		a.leases[l.Element.Key] = true
	}
	if len(out.Leases) != len(elements) {
		return fmt.Errorf("%d leases for %v", len(out.Leases), elements)
	}
	a.tally.lock(func() {
		a.tally.leases[a.name] = len(a.leases)
		for _, h := range unique(handles.FindAllString(out.Briefing, -1)) {
			a.tally.impressions[h+" "+a.name+" briefing"]++
		}
	})
	return nil
}

func unique(of []string) []string {
	slices.Sort(of)
	return slices.Compact(of)
}

func (a *agent) recall(ctx context.Context) error {
	c, err := a.sessions.Arrive(ctx, a.caller)
	if err != nil {
		return err
	}
	if c.Session != a.name {
		return fmt.Errorf("%s arrives as %s", a.name, c.Session)
	}
	out, err := a.memory.Recall(ctx, c, memory.RecallRequest{Query: fmt.Sprintf("fact number %d about topic %d", a.random.IntN(60), a.random.IntN(8)), Kinds: []memory.Kind{memory.Note}})
	if err != nil {
		return err
	}
	a.tally.lock(func() {
		for _, r := range out.Results {
			a.tally.impressions[r.Handle+" "+a.name+" recall"]++
			a.served[r.Handle] = true
		}
		for _, e := range out.Index {
			a.tally.impressions[e.Handle+" "+a.name+" index"]++
		}
	})
	return nil
}

func (a *agent) heartbeat(ctx context.Context) error {
	_, err := a.sessions.HeartbeatSession(ctx, a.caller, session.HeartbeatRequest{Summary: "half of it is done"})
	a.point = a.point || err == nil
	return err
}

// finish reports what it used, or stays silent.
func (a *agent) finish(ctx context.Context) error {
	r := session.FinishRequest{Summary: "done with it"}
	reports := a.random.IntN(2) == 0
	if reports {
		r.UsedMemories = []string{}
		for h := range a.served {
			if len(r.UsedMemories) < 2 {
				r.UsedMemories = append(r.UsedMemories, h)
			}
		}
	}
	out, err := a.sessions.FinishSession(ctx, a.caller, r)
	if err != nil {
		return err
	}
	if len(out.Cited) != len(r.UsedMemories) {
		return fmt.Errorf("cited %v of %v", out.Cited, r.UsedMemories)
	}
	a.over = true
	a.tally.lock(func() {
		delete(a.tally.leases, a.name)
		a.tally.outcomes[a.name] = true
		for _, h := range out.Cited {
			if a.tally.citations[h] == nil {
				a.tally.citations[h] = map[string]bool{}
			}
			a.tally.citations[h][a.name] = true
		}
		if reports {
			for h := range a.served {
				if !slices.Contains(out.Cited, h) {
					a.tally.ignored[h]++
				}
			}
		}
	})
	return nil
}

func (a *agent) cancel(ctx context.Context) error {
	_, err := a.sessions.CancelSession(ctx, a.caller, a.name)
	a.over = true
	a.tally.lock(func() {
		delete(a.tally.leases, a.name)
		delete(a.tally.outcomes, a.name)
	})
	return err
}

// Two hundred agents over fifty elements, through two servers: they finish, fall silent, come back, crash, report or do not. Every
// count afterwards is what an independent tally says.
func TestSimulation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(11, 5))
	model := &c4model.Model{Elements: []c4model.Element{{Key: "city", Name: "City", Level: c4model.System}}}
	for i := range 50 {
		model.Elements = append(model.Elements, c4model.Element{Key: fmt.Sprintf("city.e%d", i), Name: fmt.Sprintf("E%d", i), Level: c4model.Container, Parent: "city"})
	}
	admin := w.as("operator", "")
	admin.Role, admin.Agent = memory.RoleAdmin, ""
	_, err := w.memory.ImportModel(ctx, admin, memory.ModelImport{Model: model, Source: "w.dsl"})
	w.must(err)
	for i := range 60 {
		_, err := w.memory.Remember(ctx, w.c, memory.RememberRequest{Content: fmt.Sprintf("fact number %d about topic %d", i, i%8), Separate: true, Elements: []string{fmt.Sprintf("city.e%d", i%50)}})
		w.must(err)
	}

	second := postgres.New(w.d.DB, w.master)
	count := newTally()
	var agents []*agent
	for i := range 200 {
		a := &agent{world: w, sessions: w.Service, memory: w.memory, tally: count, random: rand.New(rand.NewPCG(uint64(i), 3)), caller: w.as(fmt.Sprintf("user%d", i), fmt.Sprintf("client%d", i))}
		if i%2 == 1 {
			a.memory = memory.New(second, memory.Options{Now: w.clock})
			a.sessions = session.New(a.memory, second)
		}
		agents = append(agents, a)
	}
	// each lets some agents act at once, a few at a time.
	each := func(what string, of []*agent, act func(a *agent) error) {
		t.Helper()
		var group sync.WaitGroup
		free := make(chan struct{}, 16)
		for _, a := range of {
			free <- struct{}{}
			group.Go(func() {
				defer func() { <-free }()
				if err := act(a); err != nil {
					t.Errorf("%s: %s: %v", what, a.name, err)
				}
			})
		}
		group.Wait()
	}
	elements := map[*agent][]string{}
	for _, a := range agents {
		first := random.IntN(50)
		elements[a] = []string{fmt.Sprintf("city.e%d", first), fmt.Sprintf("city.e%d", (first+1+random.IntN(48))%50)}
	}
	each("start", agents, func(a *agent) error { return a.start(ctx, elements[a]) })
	alive := func() []*agent { return slices.DeleteFunc(slices.Clone(agents), func(a *agent) bool { return a.over }) }
	if n := len(alive()); n < 60 {
		t.Fatalf("only %d agents got in: the simulation shows little", n)
	}
	expired, resumed := 0, 0
	for range 5 {
		w.pass(10 * time.Minute)
		var silent, lively []*agent
		for _, a := range alive() {
			if random.IntN(5) == 0 {
				silent = append(silent, a) // it crashed, or thinks
			} else {
				lively = append(lively, a)
			}
		}
		each("work", lively, func(a *agent) error {
			switch n := a.random.IntN(20); {
			case n < 9:
				return a.recall(ctx)
			case n < 14:
				return a.heartbeat(ctx)
			case n < 18:
				return a.finish(ctx)
			case n < 19:
				return a.cancel(ctx)
			default:
				return a.recall(ctx)
			}
		})
		// Half of the silent stay so until they expire.
		w.pass(25 * time.Minute)
		each("work", lively, func(a *agent) error {
			if a.over {
				return nil
			}
			return a.recall(ctx)
		})
		w.pass(6 * time.Minute)
		w.must(w.Sweep(ctx, w.c.Org))
		for _, a := range silent {
			expired++
			count.leases[a.name] = 0
			if a.point {
				count.outcomes[a.name] = true
			}
		}
		back := slices.DeleteFunc(slices.Clone(silent), func(*agent) bool { return random.IntN(2) == 0 })
		each("come back", back, func(a *agent) error {
			if err := a.recall(ctx); err != nil {
				return err
			}
			return nil
		})
		for _, a := range back {
			resumed++
			list, err := w.SessionReceipt(ctx, a.caller, a.name)
			w.must(err)
			count.leases[a.name] = len(list.Leases) // others may have taken what it had alone
		}
		for _, a := range silent {
			if !slices.Contains(back, a) {
				a.over = true
			}
		}
	}
	if expired < 20 || resumed < 5 {
		t.Errorf("%d expired and %d came back: the simulation shows little", expired, resumed)
	}
	w.compare(count)
}

// compare holds the database against the tally.
func (w *world) compare(count *tally) {
	t := w.t
	t.Helper()
	conn := w.d.ConnectAdmin(t)
	ctx := context.Background()
	rows := func(sql string) map[string]int {
		t.Helper()
		out := map[string]int{}
		found, err := conn.Query(ctx, sql, w.c.Org)
		w.must(err)
		defer found.Close()
		for found.Next() {
			var key string
			var n int
			w.must(found.Scan(&key, &n))
			out[key] = n
		}
		w.must(found.Err())
		return out
	}
	same := func(what string, want, got map[string]int) {
		t.Helper()
		for k, n := range want {
			if n != 0 && got[k] != n {
				t.Errorf("%s of %s: %d in the database, %d by the tally", what, k, got[k], n)
			}
		}
		for k, n := range got {
			if want[k] != n {
				t.Errorf("%s of %s: %d in the database, %d by the tally", what, k, n, want[k])
			}
		}
		if len(got) == 0 {
			t.Errorf("no %s at all: nothing is compared", what)
		}
	}
	same("leases", count.leases, rows(`SELECT s.name, count(*)::int FROM leases l JOIN work_sessions s USING (org_id, session_id)
		WHERE l.org_id = $1 AND l.released_at IS NULL GROUP BY s.name`))
	same("impressions", count.impressions, rows(`SELECT m.handle || ' ' || i.session_id || ' ' || i.door, i.times FROM impressions i JOIN memories m USING (org_id, memory_id) WHERE i.org_id = $1`))
	citations, outcomes := map[string]int{}, map[string]int{}
	for h, sessions := range count.citations {
		citations[h] = len(sessions)
	}
	for name := range count.outcomes {
		outcomes[name] = 1
	}
	same("citations", citations, rows(`SELECT m.handle, count(*)::int FROM citations c JOIN memories m USING (org_id, memory_id) WHERE c.org_id = $1 GROUP BY m.handle`))
	same("counted citations", citations, rows(`SELECT handle, citations FROM memories WHERE org_id = $1 AND citations > 0`))
	same("ignoring sessions", count.ignored, rows(`SELECT handle, ignored_by FROM memories WHERE org_id = $1 AND ignored_by > 0`))
	same("outcomes", outcomes, rows(`SELECT s.name, count(*)::int FROM work_sessions s JOIN memories m ON m.org_id = s.org_id AND m.memory_id = s.outcome_id AND m.status = 'live'
		WHERE s.org_id = $1 GROUP BY s.name`))
	live := rows(`SELECT 'live', count(*)::int FROM memories WHERE org_id = $1 AND kind = 'session_outcome' AND status = 'live'`)
	if live["live"] != len(outcomes) {
		t.Errorf("%d outcomes are live, %d sessions have one", live["live"], len(outcomes))
	}
	if over := rows(`SELECT s.name, 1 FROM leases l JOIN work_sessions s USING (org_id, session_id) WHERE l.org_id = $1 AND l.released_at IS NULL AND s.state <> 'active'`); len(over) != 0 {
		t.Errorf("leases outlive their sessions: %v", over)
	}
}

// Two exclusive starts at the same moment: exactly one wins, every time.
func TestExclusiveStartsRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	other := session.New(memory.New(postgres.New(w.d.DB, w.master), memory.Options{Now: w.clock}), w.store)
	zero := 0
	for n := range rounds {
		var group sync.WaitGroup
		var out [2]session.Started
		var failed [2]error
		for i, s := range []*session.Service{w.Service, other} {
			group.Go(func() {
				out[i], failed[i] = s.StartSession(ctx, w.as(fmt.Sprint("racer", i), ""), session.StartRequest{Elements: []string{"shop.web"}, Exclusive: true, MaxTokens: &zero})
			})
		}
		group.Wait()
		w.must(failed[0])
		w.must(failed[1])
		winner := slices.IndexFunc(out[:], func(s session.Started) bool { return s.Gate.Verdict == session.Allow })
		if winner < 0 || out[1-winner].Gate.Verdict != session.Deny || out[1-winner].SessionID != "" {
			t.Fatalf("round %d: %+v", n, out)
		}
		_, err := w.CancelSession(ctx, w.as(fmt.Sprint("racer", winner), ""), out[winner].SessionID)
		w.must(err)
	}
}
