//go:build unix

package embedded_test

import (
	"testing"

	"github.com/stele-dev/stele/internal/postgres/embedded"
)

// A server is found as long as it lives; another one does not take its place, and what it left behind says nothing.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	c, _ := newCluster(t, shortIdle)
	if _, err := c.FreshDir(); err != nil { // makes the folder
		t.Fatal(err)
	}
	if s, ok := c.Announced(); ok {
		t.Errorf("before anything: %+v", s)
	}
	one := embedded.Server{URL: "http://127.0.0.1:7420", Organization: "default"}
	withdraw, err := c.Announce(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Announce(t.Context(), embedded.Server{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	other()
	if got, ok := c.Announced(); !ok || got != one {
		t.Errorf("got %+v, %t", got, ok)
	}
	withdraw()
	if s, ok := c.Announced(); ok {
		t.Errorf("after it: %+v", s)
	}
}
