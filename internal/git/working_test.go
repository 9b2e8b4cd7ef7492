package git_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

func everything(string) bool { return true }

// What Working tells is what a commit of everything then holds, whatever was done to the files.
func TestWorkingIsWhatACommitWouldHold(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	r := open(t, g.Dir)
	at := func(name string) string { return filepath.Join(g.Dir, filepath.FromSlash(name)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(at(name)), 0o700))
		must(os.WriteFile(at(name), []byte(text), mode))
		must(os.Chmod(at(name), mode))
	}
	same := func(what string) {
		t.Helper()
		got, err := r.Working(t.Context(), everything)
		must(err)
		g.Git("add", "-A")
		g.Git("commit", "-q", "--allow-empty", "-m", what)
		want, err := r.Tree(t.Context(), "")
		must(err)
		if diff := cmp.Diff(hashes(want), hashes(got)); diff != "" {
			t.Fatalf("after %s (-committed +told): %s", what, diff)
		}
	}
	write(".gitattributes", "*.txt text\n", 0o600)
	write(".gitignore", "build/\n*.log\n", 0o600)
	write("build/out.o", "x", 0o600)
	write("noise.log", "x", 0o600)
	same("the first files")
	write("a.txt", "one\r\ntwo\r\n", 0o600) // is stored with other ends of lines
	write("with blank/ü.go", "package ü\n", 0o700)
	must(os.Symlink("a.txt", at("link")))
	must(os.Symlink("../elsewhere", at("with blank/dangling")))
	same("new files and links")
	g.Git("rm", "-q", "--cached", "a.txt")
	same("what was staged to go and is still there")
	must(os.Remove(at("link")))
	write("link", "a file now", 0o600)
	g.Git("mv", "with blank/ü.go", "moved.go")
	write("moved.go", "package moved\n", 0o600)
	same("a link that became a file, a rename with a change")
	must(os.RemoveAll(at("with blank")))
	write("with blank", "a file where a folder was", 0o600)
	same("a folder that became a file")
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 6 {
		for range 5 {
			name := fmt.Sprintf("d%d/f%d.go", random.IntN(3), random.IntN(4))
			if random.IntN(3) == 0 {
				_ = os.Remove(at(name)) // perhaps it is not there
			} else {
				write(name, fmt.Sprint("package x // ", random.IntN(5), "\n"), 0o600)
			}
			if random.IntN(4) == 0 {
				g.Git("add", "-A")
			}
		}
		same(fmt.Sprint("round ", round))
	}
}

func TestWorkingReadsWhatIsWanted(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a.go", "package a\n").Write("b.go", "package b\n").Commit("first")
	r := open(t, g.Dir)
	got, err := r.Working(t.Context(), func(path string) bool { return path == "b.go" })
	if err != nil || len(got) != 1 || got[0].Path != "b.go" || got[0].Blob == "" {
		t.Errorf("got %v, %v", got, err)
	}
	// A repository inside this one has no text of its own here.
	inner := filepath.Join(g.Dir, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	g.Git("init", "-q", "inner")
	if err := os.WriteFile(filepath.Join(inner, "x.go"), []byte("package x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Working(t.Context(), everything); err == nil {
		t.Errorf("with a repository inside: %v", got)
	}
	if got, err := r.Working(t.Context(), func(path string) bool { return path == "a.go" }); err != nil || len(got) != 1 {
		t.Errorf("and where it is not wanted: %v, %v", got, err)
	}
	if got, err := open(t, g.Bare().Dir).Working(t.Context(), everything); err != nil || len(got) != 0 {
		t.Errorf("without a working tree: %v, %v", got, err)
	}
}

func hashes(entries []git.Entry) map[string]string {
	out := map[string]string{}
	for _, e := range entries {
		out[e.Path] = e.Blob
	}
	return out
}
