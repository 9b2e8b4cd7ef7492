package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/embedded"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	store "github.com/stele-dev/stele/memory/postgres"
)

// writerJob tells a child process, which is this test binary again, where to write.
type writerJob struct {
	DataDir    string    `json:"data_dir"`
	Supervisor []string  `json:"supervisor"`
	Master     string    `json:"master"` // encoded key
	Org        uuid.UUID `json:"org"`
	Project    uuid.UUID `json:"project"`
	Name       string    `json:"name"`
}

const writerVariable = "STELE_TEST_WRITER"

// TestMain turns the binary into a writer when it was started as one.
func TestMain(m *testing.M) {
	if job := os.Getenv(writerVariable); job != "" {
		if err := write(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// write remembers facts until its input closes, and prints the handle of each that was acknowledged.
func write(encoded string) error {
	var job writerJob
	if err := json.Unmarshal([]byte(encoded), &job); err != nil {
		return err
	}
	master, err := secret.ParseMaster(job.Master, "test")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	s, closeAll, err := openCluster(ctx, embedded.Config{DataDir: job.DataDir, Supervisor: job.Supervisor}, master)
	if err != nil {
		return err
	}
	defer closeAll()
	c := memory.Caller{Org: job.Org, Project: job.Project, User: job.Name, Role: memory.RoleAgent, Door: memory.FromMCP}
	for i := 0; ctx.Err() == nil; i++ {
		m, err := s.Remember(ctx, c, memory.RememberRequest{Content: fmt.Sprintf("writer %s saw part%d break", job.Name, i)})
		if err != nil {
			continue // not acknowledged: the database is down, and comes back
		}
		fmt.Fprintln(os.Stdout, m.Memory.Handle)
	}
	return nil
}

func openCluster(ctx context.Context, cfg embedded.Config, master *secret.Master) (*memory.Service, func(), error) {
	cluster, err := embedded.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	dsns, err := cluster.Start(ctx)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, postgres.Config{URL: dsns.App, OwnerURL: dsns.Owner, BeforeConnect: cluster.Ensure})
	if err != nil {
		return nil, nil, errors.Join(err, cluster.Close())
	}
	return memory.New(store.New(db, master), memory.Options{}), func() {
		db.Close()
		_ = cluster.Close()
	}, nil
}

// Four processes share one embedded cluster and write; writers and the database server are killed outright in between.
// Every write that was acknowledged is there afterwards, and found by its words.
func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	t.Parallel()
	const wanted, kills = 1000, 4
	cfg := embedded.Config{DataDir: filepath.Join(pgtest.Dir(t), "stele"), Supervisor: pgtest.Supervisor(t)}
	cluster := pgtest.NewCluster(t, cfg)
	master, err := secret.GenerateMaster()
	if err != nil {
		t.Fatal(err)
	}
	key, err := master.Encode()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, closeAll, err := openCluster(ctx, cfg, master)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	org, err := s.EnsureOrganization(ctx, "crash")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.CreateProject(ctx, memory.Caller{Org: org, User: "operator", Role: memory.RoleAdmin}, "p", nil)
	if err != nil {
		t.Fatal(err)
	}

	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var writers sync.WaitGroup
	start := func(name string) (*exec.Cmd, io.Closer) {
		encoded, err := json.Marshal(writerJob{DataDir: cfg.DataDir, Supervisor: cfg.Supervisor, Master: key, Org: org, Project: p.ID, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=none")
		cmd.Env = append(os.Environ(), writerVariable+"="+string(encoded))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), "m-") { // a killed writer may leave half a line
					mu.Lock()
					acknowledged[strings.TrimSpace(lines.Text())] = true
					mu.Unlock()
				}
			}
			_ = cmd.Wait() // killed writers fail, as they should
		})
		return cmd, in
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	reach := func(n int) {
		t.Helper()
		waitFor(t, fmt.Sprintf("%d acknowledged writes", n), func() bool { return count() >= n })
	}
	type child struct {
		cmd *exec.Cmd
		in  io.Closer
	}
	var children []child
	for i := range 4 {
		cmd, in := start("w" + strconv.Itoa(i))
		children = append(children, child{cmd, in})
	}
	for kill := range kills {
		reach((kill + 1) * wanted / (kills + 1))
		if kill%2 == 0 { // a writer in the middle of whatever it does
			if err := children[kill].cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd, in := start("x" + strconv.Itoa(kill))
			children[kill] = child{cmd, in}
			continue
		}
		st, err := cluster.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(st.Server, syscall.SIGKILL); err != nil {
			t.Fatalf("kill the server %d: %v", st.Server, err)
		}
	}
	reach(wanted)
	for _, c := range children {
		_ = c.in.Close()
	}
	writers.Wait()

	c := memory.Caller{Org: org, Project: p.ID, User: "reader", Role: memory.RoleReviewer, Door: memory.FromCLI}
	lost := 0
	for handle := range acknowledged {
		if len(handle) != len("m-")+7 {
			continue
		}
		ms, err := s.Get(ctx, c, []string{handle})
		if problem.Is(err, problem.NotFound) {
			lost++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(ms[0].Content)
		found, err := s.Recall(ctx, c, memory.RecallRequest{Query: words[1] + " " + words[3], Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Results) != 1 || found.Results[0].Handle != handle {
			t.Fatalf("%q is stored and not found by its words: %+v", ms[0].Content, found)
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, len(acknowledged))
	}
}

// waitFor polls a condition and fails when two minutes were not enough.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !done() {
		select {
		case <-limit:
			t.Fatalf("waited two minutes for %s", what)
		case <-poll.C:
		}
	}
}
