package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stele-dev/stele/api/client"
	"github.com/stele-dev/stele/memory"
)

// lines keeps what is printed and tells of every line.
type lines struct {
	bytes.Buffer

	printed func(line string)
}

func (l *lines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.printed(line)
	}
	return l.Buffer.Write(p)
}

// What happens is printed as it happens, from the database and from a server, until it is interrupted.
func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	s := serveTest(t)
	shop, err := s.local.CreateProject(t.Context(), s.admin, "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.admin.Project = shop.ID
	token := s.token(t, memory.TokenRequest{Name: "kim", Role: memory.RoleAdmin})
	remember := func(n int) string {
		out, err := s.local.Remember(context.WithoutCancel(t.Context()), s.admin, memory.RememberRequest{Content: fmt.Sprintf("Tea %d is hot.", n), Separate: true})
		if err != nil {
			t.Error(err)
		}
		return out.Memory.Handle
	}
	for n, remote := range []bool{false, true} {
		for _, asJSON := range []bool{false, true} {
			ctx, stop := context.WithCancel(t.Context())
			b := &backend{service: s.local}
			c := s.admin
			if remote {
				if b.remote, err = client.New(client.Options{URL: s.url, Token: token}); err != nil {
					t.Fatal(err)
				}
				b.service, c = b.remote, memory.Caller{Project: shop.ID}
			}
			// Each line makes the next event.
			start, err := s.local.Events(t.Context(), s.admin, memory.FromNow, 0)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{remember(n)}
			out := &lines{}
			out.printed = func(line string) {
				last := want[len(want)-1]
				if asJSON {
					var e memory.StreamEvent
					if err := json.Unmarshal([]byte(line), &e); err != nil || e.Memory != last || e.Verb != memory.VerbRemember {
						t.Errorf("%q, want %s, %v", line, last, err)
					}
				} else if !strings.Contains(line, "  remember          "+last+" note by operator (cli)\n") {
					t.Errorf("%q, want %s", line, last)
				}
				if len(want) == 3 || t.Failed() {
					stop()
					return
				}
				want = append(want, remember(n))
			}
			a := &app{out: bufio.NewWriter(out), err: out, width: defaultWidth, json: asJSON}
			if err := a.followEvents(ctx, b, c, start.Position); err != nil || len(want) != 3 {
				t.Errorf("server %v, JSON %v: %v after %d lines", remote, asJSON, err, len(want))
			}
			stop()
			if remote {
				b.remote.Close()
			}
		}
	}
}
