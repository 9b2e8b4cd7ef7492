package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages of the documentation are those that the table of clients makes, and no other.
func TestPages(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "docs", "clients")
	want := Pages()
	if *update {
		for name, text := range want {
			put(t, filepath.Join(folder, name), text)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range files {
		got[f.Name()] = get(t, filepath.Join(folder, f.Name()))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("write them anew with go generate ./install (-want +got):\n%s", diff)
	}
}

// Every event that a client is asked for is explained, and nothing on a page is missing or a secret.
func TestPagesAreWhole(t *testing.T) {
	t.Parallel()
	for name, text := range Pages() {
		if strings.Contains(text, "%!") || strings.Contains(text, "``` ") || strings.Contains(text, "|  |") {
			t.Errorf("%s has holes:\n%s", name, text)
		}
	}
	for _, c := range Clients() {
		if c.Then == "" || len(c.Caveats) == 0 || len(c.Sources) == 0 {
			t.Errorf("%s: something is not said", c.ID)
		}
		if c.Hooks == nil {
			continue
		}
		for _, ev := range c.Hooks.Events {
			if hookDoes[ev.Name] == "" || ev.Timeout <= 0 {
				t.Errorf("%s at %s: what happens, and how long it may take, is not said", c.ID, ev.Name)
			}
		}
	}
}
