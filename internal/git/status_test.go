package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

func TestUncommitted(t *testing.T) {
	t.Parallel()
	r := gittest.New(t).Write("a.txt", "one\ntwo\nthree\n").Write("b.txt", "b\n").Commit("first")
	count := func() int {
		t.Helper()
		opened, err := git.Open(t.Context(), r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		n, err := opened.Uncommitted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count(); n != 0 {
		t.Errorf("a clean tree: %d", n)
	}
	r.Rename("a.txt", "c.txt")
	if err := os.MkdirAll(filepath.Join(r.Dir, "new"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b.txt", "new/d.txt", "new/e\nf.txt"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte("else\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 3 { // a rename, a change, and a new folder
		t.Errorf("%d uncommitted, want 3", n)
	}
	bare, err := git.Open(t.Context(), r.Bare().Dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := bare.Uncommitted(t.Context()); n != 0 || err != nil {
		t.Errorf("without a working tree: %d, %v", n, err)
	}
}
