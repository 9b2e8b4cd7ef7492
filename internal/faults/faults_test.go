package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

const (
	// shortSeed gives the order of the short form.
	shortSeed = 1
	// restartLimit is how soon everything must be ready again after processes died. Only the long form judges it.
	restartLimit = 5 * time.Second
)

// duration is how long the long form goes on; 0 for the short form. seed gives the order of the faults and what clients do.
func duration(t *testing.T) (long time.Duration, seed uint64) {
	t.Helper()
	seed = shortSeed
	if text := os.Getenv("FAULTS"); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FAULTS: %v", err)
		}
		seed = rand.Uint64()
	}
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FAULTS_SEED: %v", err)
		}
	}
	return long, seed
}

// fault is something that breaks. inject breaks it, sees that it is broken, and mends it as far as nobody else does; it gives
// the moment from which the time until everything is ready counts.
type fault struct {
	name    string
	restart bool // processes died, and are started again
	inject  func(s *system, dice *rand.Rand) time.Time
}

var faults = []fault{
	{"server killed", true, func(s *system, _ *rand.Rand) time.Time { return s.killServers(s.near) }},
	{"server behind a network killed", true, func(s *system, _ *rand.Rand) time.Time { return s.killServers(s.far) }},
	{"backend of the database killed", true, (*system).killBackend},
	{"database killed", true, func(s *system, _ *rand.Rand) time.Time { return s.killDatabase() }},
	{"supervisor of the database killed", true, func(s *system, _ *rand.Rand) time.Time { return s.killSupervisor() }},
	{"everything killed at once", true, func(s *system, _ *rand.Rand) time.Time { return s.killAll() }},
	{"network cut", false, func(s *system, _ *rand.Rand) time.Time { return s.cutNetwork() }},
	{"network stalled", false, func(s *system, _ *rand.Rand) time.Time { return s.stallNetwork() }},
	{"connections forgotten by the network", false, func(s *system, _ *rand.Rand) time.Time { return s.forgetConnections() }},
	{"every connection held by a lock", false, func(s *system, _ *rand.Rand) time.Time { return s.exhaustPools() }},
}

// Faults come one after the other while clients write and read. After each, everything is ready again, every acknowledged
// write is there exactly once, and the data contradicts itself nowhere.
func TestFaults(t *testing.T) {
	t.Parallel()
	long, seed := duration(t)
	t.Logf("FAULTS_SEED=%d", seed)
	began := time.Now()
	s := newSystem(t, pgtest.Dir(t), seed)
	t.Logf("%6.1f s: everything is up", time.Since(began).Seconds())
	dice := rand.New(rand.NewPCG(seed, 0))
	took, broken := map[string][]time.Duration{}, time.Now()
	for n := 0; n == 0 || time.Since(broken) < long; n++ {
		s.begin(fmt.Sprintf("round-%d", n))
		for _, i := range dice.Perm(len(faults)) {
			f := faults[i]
			if only := os.Getenv("FAULT"); only != "" && !strings.Contains(f.name, only) {
				continue
			}
			at := time.Now()
			s.during(func() {
				s.progress(s.servers()...)
				back := s.recovered(f.inject(s, dice))
				took[f.name] = append(took[f.name], back)
				s.progress(s.servers()...)
			})
			s.verify(s.done[len(s.done)-1])
			looked := s.whole()
			if t.Failed() {
				t.Fatalf("round %d, after this: %s", n, f.name)
			}
			t.Logf("%6.1f s: %s; ready after %.2f s, %d statements about the data hold; all of it took %.1f s", time.Since(began).Seconds(), f.name,
				took[f.name][len(took[f.name])-1].Seconds(), looked, time.Since(at).Seconds())
		}
	}
	doctor(t, s.settings)
	s.report(took, long > 0)
}

// report tells what was measured, and looks at all rounds once more.
func (s *system) report(took map[string][]time.Duration, judged bool) {
	s.t.Helper()
	var acknowledged, stored, answered, failed, gaveUp int64
	for _, r := range s.done {
		a, f := s.verify(r)
		acknowledged, stored = acknowledged+a, stored+f
		for _, w := range r.writers {
			answered, failed, gaveUp = answered+w.answered.Load(), failed+w.failed.Load(), gaveUp+w.gaveUp.Load()
		}
	}
	var restarts []time.Duration
	for _, f := range faults {
		all := slices.Sorted(slices.Values(took[f.name]))
		if len(all) == 0 {
			continue
		}
		s.t.Logf("%-38s %3d times, ready after p50 %5.2f s, max %5.2f s", f.name, len(all), all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
		if f.restart {
			restarts = append(restarts, all...)
		}
	}
	s.t.Logf("%d rounds: %d writes acknowledged and there exactly once, as %d memories; %d reads; %d attempts failed, %d calls were repeated",
		len(s.done), acknowledged, stored, answered, failed, gaveUp)
	if failed == 0 {
		s.t.Error("no attempt ever failed, so nobody noticed the faults")
	}
	if len(restarts) == 0 {
		return // FAULT chose others
	}
	slices.Sort(restarts)
	s.t.Logf("restart to ready: p50 %.2f s, max %.2f s of %d", restarts[len(restarts)/2].Seconds(), restarts[len(restarts)-1].Seconds(), len(restarts))
	if judged && restarts[len(restarts)-1] > restartLimit {
		s.t.Errorf("a restart took %s until everything was ready, the limit is %s", restarts[len(restarts)-1], restartLimit)
	}
}

// killServers ends servers in the middle of whatever they do, and starts them again as a service manager does.
func (s *system) killServers(servers ...*server) time.Time {
	s.t.Helper()
	began := time.Now()
	for _, server := range servers {
		if !server.kill() {
			s.t.Errorf("%s had ended by itself", server.name)
		}
	}
	s.restart(servers...)
	return began
}

// restart starts servers at once, and again when one finds its database not there yet.
func (s *system) restart(servers ...*server) {
	s.t.Helper()
	var all sync.WaitGroup
	for _, server := range servers {
		all.Go(func() {
			for deadline := time.Now().Add(patience); ; {
				err := server.launch()
				if err == nil {
					return
				}
				if time.Now().After(deadline) {
					s.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// killBackend kills one of the processes that carry out the statements of servers. PostgreSQL then ends all the others and
// recovers.
func (s *system) killBackend(dice *rand.Rand) time.Time {
	s.t.Helper()
	ctx := s.t.Context()
	watch, err := s.connect(ctx)
	s.must(err)
	defer func() { _ = watch.Close(ctx) }() // broken by now
	var pids []int
	s.must(watch.QueryRow(ctx, `SELECT array_agg(pid) FROM pg_stat_activity WHERE usename = 'stele_app'`).Scan(&pids))
	began := time.Now()
	s.must(syscall.Kill(pids[dice.IntN(len(pids))], syscall.SIGKILL))
	await(s.t, "the database ends all sessions", func() bool {
		_, err := watch.Exec(ctx, "SELECT 1")
		return err != nil
	})
	return began
}

// status is that of the database while it runs.
func (s *system) status() embedded.Status {
	s.t.Helper()
	status, err := s.cluster.Status(s.t.Context())
	s.must(err)
	if !status.Running {
		s.t.Fatal("the database does not run before it is broken")
	}
	return status
}

// killDatabase kills the first process of the database, which its supervisor then starts again.
func (s *system) killDatabase() time.Time {
	s.t.Helper()
	before, began := s.status(), time.Now()
	s.must(syscall.Kill(before.Server, syscall.SIGKILL))
	await(s.t, "another database server runs", func() bool {
		now, err := s.cluster.Status(s.t.Context())
		return err == nil && now.Running && now.Server != before.Server
	})
	return began
}

// killSupervisor kills the parent of the database, with which the database dies. Whoever needs it starts another.
func (s *system) killSupervisor() time.Time {
	s.t.Helper()
	before, began := s.status(), time.Now()
	s.must(syscall.Kill(before.Supervisor, syscall.SIGKILL))
	await(s.t, "another supervisor runs", func() bool {
		now, err := s.cluster.Status(s.t.Context())
		return err == nil && now.Running && now.Supervisor != before.Supervisor
	})
	return began
}

// killAll kills both servers, the supervisor and the database.
func (s *system) killAll() time.Time {
	s.t.Helper()
	before, began := s.status(), time.Now()
	s.must(syscall.Kill(before.Supervisor, syscall.SIGKILL))
	_ = syscall.Kill(before.Server, syscall.SIGKILL) // it may be gone with its parent
	return earlier(began, s.killServers(s.servers()...))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// cutNetwork resets every connection between the far server and the database, and refuses new ones. The far server says
// that it is not ready; the clients of the near one notice nothing.
func (s *system) cutNetwork() time.Time {
	s.t.Helper()
	before, _ := s.network.lost()
	s.network.cut()
	await(s.t, s.far.name+" says that it is not ready", func() bool { return !s.far.ready(s.t.Context()) })
	s.progress(s.near)
	if now, _ := s.network.lost(); now == before {
		s.t.Error("no connection was cut")
	}
	s.network.mend()
	return time.Now()
}

// stallNetwork lets nothing through for a while, and then everything. What the far server had begun keeps no one from working.
func (s *system) stallNetwork() time.Time {
	s.t.Helper()
	_, before := s.network.lost()
	s.network.stall()
	await(s.t, "something is withheld", func() bool { _, now := s.network.lost(); return now > before })
	s.progress(s.near)
	s.network.mend()
	return time.Now()
}

// forgetConnections lets nothing through on the connections that the far server has, for good. It makes others.
func (s *system) forgetConnections() time.Time {
	s.t.Helper()
	_, before := s.network.lost()
	if s.network.forget() == 0 {
		s.t.Error("there was no connection to forget")
	}
	began := time.Now()
	await(s.t, "something is withheld", func() bool { _, now := s.network.lost(); return now > before })
	s.progress(s.near)
	return began
}

// exhaustPools locks the table that every statement of clients needs, and sends more of them than either server has
// connections. Then nobody is served, and all are told so within their patience.
func (s *system) exhaustPools() time.Time {
	s.t.Helper()
	ctx := s.t.Context()
	for _, w := range s.crowded {
		w.remember(ctx, nil) // something to ask for
	}
	lock, err := s.connect(ctx)
	s.must(err)
	defer func() { s.must(lock.Close(ctx)) }()
	_, err = lock.Exec(ctx, "BEGIN; LOCK TABLE memories IN ACCESS EXCLUSIVE MODE")
	s.must(err)
	watch, err := s.connect(ctx)
	s.must(err)
	defer func() { s.must(watch.Close(ctx)) }()
	var all sync.WaitGroup
	for _, w := range s.crowded {
		all.Go(func() { w.recall(ctx, w.facts[0]) })
	}
	// One of the servers keeps a connection for the work that one does for all.
	await(s.t, "all connections wait for the lock", func() bool {
		var waiting int
		s.must(watch.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE usename = 'stele_app' AND wait_event_type = 'Lock'`).Scan(&waiting))
		return waiting >= len(s.servers())*(4*processors-1)
	})
	for _, w := range s.canaries {
		short, cancel := context.WithTimeout(ctx, time.Second)
		_, err := w.client.Recall(short, w.by, memory.RecallRequest{Query: "parcel"})
		cancel()
		if !problem.Is(err, problem.Unavailable) {
			s.t.Errorf("%s answers while no connection is free: %v", w.server.name, err)
		}
	}
	_, err = lock.Exec(ctx, "ROLLBACK")
	s.must(err)
	began := time.Now()
	all.Wait()
	return began
}
