package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// soakFor is how long the soak lasts. A change is tested for long enough to see every fault once; `make soak` is for the
// rest.
const soakFor = 12 * time.Second

// Many clients work through a proxy on two servers of one database, while the database is stopped, the database is killed,
// and a server is killed. Every write that was acknowledged is there, once; what is refused is refused because a part was
// away, and says so; neither memory nor goroutines pile up.
//
//nolint:paralleltest // it measures
func TestSoak(t *testing.T) {
	duration, clients := soakFor, 16
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		clients = 64
	}
	s := newSoak(t)
	ctx := t.Context()
	var all sync.WaitGroup
	stop := make(chan struct{})
	workers := make([]*soakWorker, clients)
	for n := range workers {
		workers[n] = s.worker(n)
		all.Go(func() { workers[n].run(ctx, stop) })
	}
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		s.watch(ctx, stop)
	}()
	at := func(share float64) <-chan time.Time {
		return time.After(time.Until(s.began.Add(time.Duration(share * float64(duration)))))
	}
	<-at(0.2)
	s.down("database stopped", func() {
		s.must(s.cluster.Stop(ctx))
		s.must(s.cluster.Ensure(ctx))
	})
	<-at(0.4)
	s.down("server killed", func() {
		s.servers[0].kill()
		s.servers[0].start()
	})
	<-at(0.6)
	s.down("database killed", s.killDatabase)
	<-at(1)
	close(stop)
	all.Wait()
	<-watch
	s.verify(workers)
}

// soak is the system under test.
type soak struct {
	t       *testing.T
	cluster *embedded.Cluster
	dsns    embedded.DSNs
	service *memory.Service
	admin   memory.Caller
	proxy   *httptest.Server
	servers []*soakServer
	began   time.Time

	mu       sync.Mutex
	outages  []outage
	failures map[string]int
	samples  map[string][]vitals
}

type outage struct {
	what       string
	began, end time.Time
}

// vitals is what a server says of itself.
type vitals struct {
	at                  time.Time
	resident, goroutine float64
}

func (s *soak) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, failures: map[string]int{}, samples: map[string][]vitals{}}
	ctx := t.Context()
	s.cluster = pgtest.NewCluster(t, embedded.Config{})
	dsns, err := s.cluster.Start(ctx)
	s.must(err)
	s.dsns = dsns
	// This process restarts the database on purpose; the servers are given an address like any other.
	db, err := postgres.Open(ctx, postgres.Config{URL: dsns.App, OwnerURL: dsns.Owner, BeforeConnect: s.cluster.Ensure})
	s.must(err)
	t.Cleanup(db.Close)
	dir := pgtest.Dir(t)
	key := filepath.Join(dir, "master.key")
	master, _, err := secret.LoadMaster("", key)
	s.must(err)
	s.service = memory.New(store.New(db, master), memory.Options{})
	org, err := s.service.EnsureOrganization(ctx, memory.DefaultOrganization)
	s.must(err)
	s.admin = memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin, Door: memory.FromCLI}
	p, err := s.service.CreateProject(ctx, s.admin, "shop", nil)
	s.must(err)
	s.admin.Project = p.ID

	path := program(t)
	env := append(os.Environ(), "STELE_DATABASE_URL="+dsns.App, "STELE_MASTER_KEY_FILE="+key, "XDG_CONFIG_HOME="+dir, "STELE_SERVER=", "STELE_RATE=1000", "STELE_LOG_LEVEL=warn", "STELE_METRICS_ADDR=127.0.0.1:0")
	for range 2 {
		server := &soakServer{t: t, path: path, env: env}
		server.start()
		t.Cleanup(server.kill)
		s.servers = append(s.servers, server)
	}
	s.proxy = httptest.NewServer(s.balance())
	t.Cleanup(s.proxy.Close)
	s.began = time.Now()
	return s
}

// balance hands requests to the servers in turn, as a proxy before replicas does.
func (s *soak) balance() http.Handler {
	var turn atomic.Int64
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(s.servers[int(turn.Add(1))%len(s.servers)].address())
			r.Out.Host = ""
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		Transport:    &http.Transport{MaxIdleConnsPerHost: 64},
	}
}

// down runs a fault and notes when it was.
func (s *soak) down(what string, fault func()) {
	began := time.Now()
	fault()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outages = append(s.outages, outage{what, began, time.Now()})
	s.t.Logf("%6.1f s: %s, back after %.1f s", time.Since(s.began).Seconds(), what, time.Since(began).Seconds())
}

// killDatabase kills the first process of the server, as a lack of memory does, and starts it again.
func (s *soak) killDatabase() {
	before, pid, err := s.postmaster()
	s.must(err)
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	for deadline := time.Now().Add(time.Minute); ; {
		if err := s.cluster.Ensure(s.t.Context()); err == nil {
			if now, _, err := s.postmaster(); err == nil && now.After(before) {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatal("the database does not come back")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// postmaster tells since when the database server runs, and its process.
func (s *soak) postmaster() (since time.Time, pid int, err error) {
	conn, err := pgx.Connect(s.t.Context(), s.dsns.Admin)
	if err != nil {
		return since, 0, err
	}
	defer conn.Close(s.t.Context())
	var file string
	if err := conn.QueryRow(s.t.Context(), "SELECT pg_postmaster_start_time(), pg_read_file('postmaster.pid')").Scan(&since, &file); err != nil {
		return since, 0, err
	}
	pid, err = strconv.Atoi(strings.Fields(file)[0])
	return since, pid, err
}

// soakServer is one `stele serve`.
type soakServer struct {
	t    *testing.T
	path string
	env  []string

	mu      sync.Mutex
	url     *url.URL
	metrics string
	cmd     *exec.Cmd
}

var (
	serving   = regexp.MustCompile(`serving (http://\S+)`)
	measuring = regexp.MustCompile(`metrics at (http://\S+)`)
)

func (s *soakServer) start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	addr := "127.0.0.1:0"
	if s.url != nil {
		addr = s.url.Host
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), s.path, "serve", "--addr", addr)
	s.cmd.Dir, s.cmd.Env = s.t.TempDir(), s.env
	out, err := s.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := measuring.FindStringSubmatch(lines.Text()); m != nil {
			s.metrics = m[1]
		}
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			if s.url, err = url.Parse(m[1]); err != nil {
				s.t.Fatal(err)
			}
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return
		}
	}
	s.t.Fatalf("the server ended without serving: %v", s.cmd.Wait())
}

func (s *soakServer) address() *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// vitalsAt is where it tells how it is.
func (s *soakServer) vitalsAt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics
}

func (s *soakServer) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// soakWorker is one client with its own memories, and what it knows of them.
type soakWorker struct {
	soak   *soak
	n      int
	client *client.Client
	rand   *rand.Rand

	written  map[string]string // content → handle, acknowledged
	doubtful map[string]bool   // content of writes nobody knows about
	sure     map[string]int    // handle → acknowledged confirmations
	maybe    map[string]int    // handle → confirmations nobody knows about
	handles  []string
	done     map[string]int
}

func (s *soak) worker(n int) *soakWorker {
	s.t.Helper()
	made, err := s.service.CreateToken(s.t.Context(), s.admin, memory.TokenRequest{Name: fmt.Sprintf("client-%d", n), Role: memory.RoleReviewer})
	s.must(err)
	c, err := client.New(client.Options{URL: s.proxy.URL, Token: made.Text})
	s.must(err)
	s.t.Cleanup(c.Close)
	return &soakWorker{soak: s, n: n, client: c, rand: rand.New(rand.NewPCG(1, uint64(n))),
		written: map[string]string{}, doubtful: map[string]bool{}, sure: map[string]int{}, maybe: map[string]int{}, done: map[string]int{}}
}

// run works until stop, mostly asking, as agents do.
func (w *soakWorker) run(ctx context.Context, stop <-chan struct{}) {
	by := w.soak.admin
	by.Session = fmt.Sprintf("soak-%d", w.n)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(w.rand.IntN(40)) * time.Millisecond): // an agent thinks between two calls
		}
		w.once(ctx, by, i)
	}
}

func (w *soakWorker) once(ctx context.Context, by memory.Caller, i int) {
	known := ""
	if len(w.handles) > 0 {
		known = w.handles[w.rand.IntN(len(w.handles))]
	}
	switch dice := w.rand.IntN(100); {
	case dice < 25 || known == "":
		content := fmt.Sprintf("Client %d found out in step %d that the %s %s the %s.", w.n, i, soakWords[w.rand.IntN(len(soakWords))],
			soakWords[w.rand.IntN(len(soakWords))], soakWords[w.rand.IntN(len(soakWords))])
		out, err := w.client.Remember(ctx, by, memory.RememberRequest{Content: content, Separate: true})
		switch {
		case w.failed("remember", err):
			w.doubtful[content] = true
		default:
			w.written[content] = out.Memory.Handle
			w.handles = append(w.handles, out.Memory.Handle)
		}
	case dice < 35:
		_, err := w.client.Confirm(ctx, by, memory.ConfirmRequest{Memory: known, Holds: true})
		if w.failed("confirm", err) {
			w.maybe[known]++
		} else {
			w.sure[known]++
		}
	case dice < 40:
		tags := []string{soakWords[w.rand.IntN(len(soakWords))]}
		_, err := w.client.Edit(ctx, by, memory.EditRequest{Memory: known, Tags: &tags})
		w.failed("edit", err)
	case dice < 45:
		_, err := w.client.Get(ctx, by, []string{known})
		w.failed("get", err)
	case dice < 48:
		_, err := w.client.List(ctx, by, memory.ListRequest{Limit: 20})
		w.failed("list", err)
	case dice < 50:
		_, err := w.client.Map(ctx, by)
		w.failed("map", err)
	default:
		_, err := w.client.Recall(ctx, by, memory.RecallRequest{Query: soakWords[w.rand.IntN(len(soakWords))] + " " + soakWords[w.rand.IntN(len(soakWords))]})
		w.failed("recall", err)
	}
}

var soakWords = strings.Fields("cart order price stock queue token cache index lock retry budget parcel label invoice refund courier depot shelf ledger basket voucher cellar window bridge")

// failed notes how a call went. A failure has to be typed, and has to have a reason.
func (w *soakWorker) failed(what string, err error) bool {
	if err == nil {
		w.done[what]++
		return false
	}
	w.soak.mu.Lock()
	defer w.soak.mu.Unlock()
	p, ok := problem.As(err)
	if !ok || p.Code != problem.Unavailable {
		w.soak.t.Errorf("%s failed with %v", what, err)
		return true
	}
	w.soak.failures[what]++
	return true
}

// watch asks the servers now and then how they are.
func (s *soak) watch(ctx context.Context, stop <-chan struct{}) {
	for {
		for n, server := range s.servers {
			if got, err := scrape(ctx, server.vitalsAt()); err == nil {
				s.mu.Lock()
				s.samples[strconv.Itoa(n)] = append(s.samples[strconv.Itoa(n)], got)
				s.mu.Unlock()
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
		}
	}
}

func scrape(ctx context.Context, address string) (vitals, error) {
	got := vitals{at: time.Now()}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return got, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return got, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return got, errors.Join(err, errors.New(res.Status))
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "process_resident_memory_bytes":
			got.resident, err = strconv.ParseFloat(value, 64)
		case "go_goroutines":
			got.goroutine, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

// verify compares what the clients were told with what is there.
func (s *soak) verify(workers []*soakWorker) {
	ctx := s.t.Context()
	stored := map[string][]memory.Memory{}
	for r := (memory.ListRequest{Status: "all"}); ; {
		page, err := s.service.List(ctx, s.admin, r)
		s.must(err)
		for _, m := range page.Memories {
			stored[m.Content] = append(stored[m.Content], m)
		}
		if r.Cursor = page.NextCursor; r.Cursor == "" {
			break
		}
	}
	done, acknowledged, doubtful := map[string]int{}, 0, 0
	for _, w := range workers {
		for content, handle := range w.written {
			acknowledged++
			found := stored[content]
			if len(found) != 1 || found[0].Handle != handle {
				s.t.Errorf("%q was acknowledged as %s and is there %d times", content, handle, len(found))
				continue
			}
			if n, low, high := found[0].Confirmations, w.sure[handle], w.sure[handle]+w.maybe[handle]; n < low || n > high {
				s.t.Errorf("%s was confirmed %d to %d times and counts %d", handle, low, high, n)
			}
		}
		for content := range w.doubtful {
			doubtful++
			if n := len(stored[content]); n > 1 {
				s.t.Errorf("%q is there %d times", content, n)
			}
		}
		for what, n := range w.done {
			done[what] += n
		}
	}
	if acknowledged == 0 {
		s.t.Error("nothing was written")
	}
	total := 0
	for _, n := range done {
		total += n
	}
	failed := 0
	for _, n := range s.failures {
		failed += n
	}
	s.t.Logf("%d clients, %.0f s: %d calls done %v, %d gave up %v", len(workers), time.Since(s.began).Seconds(), total, done, failed, s.failures)
	s.t.Logf("%d writes acknowledged and found once, %d without an answer and found at most once", acknowledged, doubtful)
	for _, name := range slices.Sorted(maps.Keys(s.samples)) {
		s.judge(name, s.samples[name])
	}
}

// judge compares how big a server was once it had warmed up with how big it was at the end. A server that was started anew
// is judged from then on.
func (s *soak) judge(name string, samples []vitals) {
	if name == "0" { // it was killed
		s.mu.Lock()
		killed := s.outages[1].end
		s.mu.Unlock()
		samples = slices.DeleteFunc(samples, func(x vitals) bool { return x.at.Before(killed) })
	}
	if len(samples) < 4 {
		s.t.Errorf("server %s told only %d times how it is", name, len(samples))
		return
	}
	warm, end := samples[len(samples)/4:len(samples)/2], samples[len(samples)*3/4:]
	resident := func(x vitals) float64 { return x.resident }
	goroutine := func(x vitals) float64 { return x.goroutine }
	s.t.Logf("server %s: memory %.0f MB, at the end %.0f MB; goroutines %.0f, at the end %.0f", name,
		median(warm, resident)/1e6, median(end, resident)/1e6, median(warm, goroutine), median(end, goroutine))
	// Half as much again, and 32 MB that a garbage collector may or may not have given back.
	if a, b := median(warm, resident), median(end, resident); b > 1.5*a+32e6 {
		s.t.Errorf("server %s grew from %.0f to %.0f MB", name, a/1e6, b/1e6)
	}
	if a, b := median(warm, goroutine), median(end, goroutine); b > 2*a+64 {
		s.t.Errorf("server %s went from %.0f to %.0f goroutines", name, a, b)
	}
}

func median(samples []vitals, of func(vitals) float64) float64 {
	values := make([]float64, len(samples))
	for n, x := range samples {
		values[n] = of(x)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
