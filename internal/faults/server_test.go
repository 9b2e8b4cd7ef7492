package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds every wait of these tests. It is no measure: what takes long is told, and judged by the long form alone.
const patience = 90 * time.Second

// server is one `stele serve`, a child of the test. It keeps its address over restarts.
type server struct {
	t        *testing.T
	name     string
	settings []string

	mu    sync.Mutex
	url   *url.URL
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended and was waited for
	log   []string      // the last lines of its log
}

var serving = regexp.MustCompile(`serving (http://\S+)`)

// keptLines is how much of a log is shown when a test fails.
const keptLines = 40

// newServer prepares a server; start starts it.
func newServer(t *testing.T, name string, settings ...string) *server {
	t.Helper()
	s := &server{t: t, name: name, settings: append([]string{"STELE_LOG_LEVEL=warn"}, settings...)}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Logf("the end of the log of %s:\n%s", name, strings.Join(s.log, "\n"))
		}
	})
	return s
}

// start runs the server and waits until it says where it serves.
func (s *server) start() {
	s.t.Helper()
	if err := s.launch(); err != nil {
		s.t.Fatal(err)
	}
}

// launch is start for goroutines, which must not end the test.
func (s *server) launch() error {
	addr := "127.0.0.1:0"
	s.mu.Lock()
	if s.url != nil {
		addr = s.url.Host
	}
	s.mu.Unlock()
	cmd := command(context.WithoutCancel(s.t.Context()), s.t, s.settings, "serve", "--addr", addr)
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, ready := make(chan struct{}), make(chan *url.URL, 1)
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	go func() { // ends with the process
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.note(lines.Text())
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				if u, err := url.Parse(m[1]); err == nil {
					ready <- u
				}
			}
		}
		_ = cmd.Wait() // a killed server fails, as it should
	}()
	select {
	case u := <-ready:
		s.mu.Lock()
		s.url = u
		s.mu.Unlock()
		return nil
	case <-ended:
		return fmt.Errorf("%s ended without serving: %s", s.name, strings.Join(s.tail(), "\n"))
	case <-time.After(patience):
		return fmt.Errorf("%s does not serve", s.name)
	}
}

func (s *server) note(line string) {
	if strings.Contains(line, `"GET /readyz"`) {
		return // await asks all the time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log = append(s.log, line); len(s.log) > keptLines {
		s.log = s.log[1:]
	}
}

func (s *server) tail() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// kill ends the server as a lack of memory does, and waits until it is gone. It tells whether there was one to end.
func (s *server) kill() bool {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
	}
	killed := cmd.Process.Kill() == nil
	<-ended
	return killed
}

// address is where it serves; nil before the first start.
func (s *server) address() *url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// ready asks once whether requests should be sent here.
func (s *server) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address().JoinPath("readyz").String(), nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	return res.Body.Close() == nil && res.StatusCode == http.StatusOK
}

// await polls until something holds, and fails the test when patience ends.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-poll.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for this: %s", patience, what)
		}
	}
}
