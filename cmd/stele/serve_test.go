package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// atDatabaseOf is an app of somebody whose settings are in a folder of its own, on a database of its own.
func atDatabaseOf(t *testing.T, errOut io.Writer, variables map[string]string) *app {
	t.Helper()
	all := map[string]string{
		"STELE_DATABASE_URL": pgtest.NewDatabase(t).App, "STELE_MASTER_KEY_FILE": filepath.Join(t.TempDir(), "master.key"), "STELE_USER": "kim",
	}
	maps.Copy(all, variables)
	return &app{in: strings.NewReader(""), out: bufio.NewWriter(io.Discard), err: errOut, width: defaultWidth,
		environment: config.Environment{Variables: all}, dir: t.TempDir()}
}

var places = regexp.MustCompile(`http://\S+`)

// A server serves all tenants: that the one which commands work in is not there yet is no reason not to start. What it
// logs is what it was told to; metrics have an address of their own, or none.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variables map[string]string
		requests  bool // are logged
		metrics   bool
	}{
		"as it comes": {nil, true, false},
		"told less":   {map[string]string{"STELE_LOG_LEVEL": "warn", "STELE_METRICS_ADDR": "127.0.0.1:0"}, false, true},
		"told more":   {map[string]string{"STELE_LOG_LEVEL": "debug"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, in := io.Pipe()
			a := atDatabaseOf(t, in, c.variables)
			a.environment.Variables["STELE_ORGANIZATION"] = "acme"
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan int, 1)
			go func() {
				ended <- a.run(ctx, []string{"serve", "--addr", "127.0.0.1:0"})
				a.close()
				_ = in.Close()
			}()
			var said bytes.Buffer
			lines := bufio.NewScanner(out)
			metrics, server := "", ""
			for server == "" && lines.Scan() {
				said.WriteString(lines.Text() + "\n")
				switch {
				case strings.Contains(lines.Text(), "metrics at"):
					metrics = places.FindString(lines.Text())
				case strings.Contains(lines.Text(), "serving"):
					server = places.FindString(lines.Text())
				}
			}
			if server == "" {
				t.Fatalf("it ended with %d: %s", <-ended, said.String())
			}
			rest := make(chan []byte, 1)
			go func() {
				text, _ := io.ReadAll(out)
				rest <- text
			}()
			if got := status(t, server+"/v1/whoami"); got != http.StatusUnauthorized {
				t.Errorf("without a token: %d", got)
			}
			if (metrics != "") != c.metrics {
				t.Errorf("metrics at %q", metrics)
			}
			if metrics != "" && status(t, metrics) != http.StatusOK {
				t.Error("the metrics are not there")
			}
			stop()
			if code := <-ended; code != exitDone {
				t.Errorf("it ended with %d", code)
			}
			if log := string(<-rest); strings.Contains(log, `"msg":"request"`) != c.requests {
				t.Errorf("logged:\n%s", log)
			}
		})
	}
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// The token of this machine is for the organization that commands work in, which is there or is the one that nobody named.
func TestLocalToken(t *testing.T) {
	t.Parallel()
	for organization, refused := range map[string]bool{"": false, "acme": true} {
		a := atDatabaseOf(t, io.Discard, map[string]string{"STELE_ORGANIZATION": organization})
		b, err := a.operator(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		file, err := localTokenFile(b.config)
		if err != nil {
			t.Fatal(err)
		}
		err = a.localToken(t.Context(), b)
		if refused {
			if !problem.Is(err, problem.NotFound) {
				t.Errorf("for an organization that is not there: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := b.local.Authenticate(t.Context(), strings.TrimSpace(string(text)))
		if err != nil || c.User != "kim" || c.Role != memory.RoleAdmin {
			t.Errorf("it speaks for %+v, %v", c, err)
		}
		if err := a.localToken(t.Context(), b); err != nil { // it is there
			t.Error(err)
		}
		if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, text) {
			t.Error("another one is made at each start")
		}
	}
}
