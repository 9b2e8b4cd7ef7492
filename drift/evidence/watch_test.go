package evidence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
)

// evaluate gives the verdict about one text, after the journey that it makes between a server and CI.
func evaluate(t *testing.T, r *git.Repository, w evidence.Watched) evidence.Verdict {
	t.Helper()
	sent, err := json.Marshal([]evidence.Watched{w})
	if err != nil {
		t.Fatal(err)
	}
	var arrived []evidence.Watched
	if err := json.Unmarshal(sent, &arrived); err != nil {
		t.Fatal(err)
	}
	verdicts, err := evidence.Evaluate(t.Context(), r, "", arrived)
	if err != nil {
		t.Fatal(err)
	}
	if sent, err = json.Marshal(verdicts); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(sent), "null") && verdicts[0].Rewrite != nil {
		t.Errorf("an absent list is empty, not null: %s", sent)
	}
	var back []evidence.Verdict
	if err := json.Unmarshal(sent, &back); err != nil || len(back) != 1 || back[0].ID != w.ID {
		t.Fatalf("got %s, %v", sent, err)
	}
	return back[0]
}

func TestEvaluateClaims(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("core/pool.go", body).Write("web/page.ts", "export const pageSize = 10\n").Commit("start")
	seen := g.Head()
	g.Write("core/pool.go", strings.ReplaceAll(body, "drainPool", "emptyPool")).Write("web/pool.ts", "drainPool()\n").Commit("move it")
	moved := g.Head()[:7]
	g.Rename("core/pool.go", "core/reserve.go").Commit("rename")
	renamed := g.Head()[:7]
	r := open(t, g)
	where := []string{"core/pool.go"}
	for name, tc := range map[string]struct {
		claim    evidence.WatchedClaim
		patterns []string
		seen     string
		want     string
		state    evidence.State
	}{
		"evidence went elsewhere": {
			evidence.WatchedClaim{Text: "drainPool", Kind: evidence.Symbol, Evidence: true, Where: where}, []string{"core/"}, seen,
			"`drainPool` left core/pool.go in " + moved + " (Ana, 2026-01-01: move it), now in web/pool.ts", evidence.Moved,
		},
		"evidence by what the writer had": {
			evidence.WatchedClaim{Text: "drainPool", Kind: evidence.Symbol}, []string{"core/"}, seen,
			"`drainPool` left core/pool.go in " + moved + " (Ana, 2026-01-01: move it), now in web/pool.ts", evidence.Moved,
		},
		"not known to have been there": {
			evidence.WatchedClaim{Text: "drainPool", Kind: evidence.Symbol}, []string{"core/"}, "", "`drainPool` was never found", evidence.NeverFound,
		},
		"found anywhere without bindings": {
			evidence.WatchedClaim{Text: "drainPool", Kind: evidence.Symbol}, nil, "", "`drainPool` is in web/pool.ts", evidence.Holds,
		},
		"never found": {
			evidence.WatchedClaim{Text: "neverThere", Kind: evidence.Symbol}, nil, seen, "`neverThere` was never found", evidence.NeverFound,
		},
		"holds in the bound files": {
			evidence.WatchedClaim{Text: "emptyPool", Kind: evidence.Symbol}, []string{"core/**"}, seen, "`emptyPool` is in core/reserve.go", evidence.Holds,
		},
		"a renamed file": {
			evidence.WatchedClaim{Text: "core/pool.go", Kind: evidence.Path, Evidence: true, Where: where}, []string{"core/"}, seen,
			"`core/pool.go` moved in " + renamed + " (Ana, 2026-01-01: rename), now core/reserve.go", evidence.Moved,
		},
		"a file that is known to be elsewhere": {
			evidence.WatchedClaim{Text: "core/pool.go", Kind: evidence.Path, Evidence: true, Where: []string{"core/reserve.go"}}, []string{"core/"}, seen,
			"`core/pool.go` moved in " + renamed + " (Ana, 2026-01-01: rename), now core/reserve.go", evidence.Moved,
		},
		"a commit that is not here": {
			evidence.WatchedClaim{Text: "core/pool.go", Kind: evidence.Path, Evidence: true, Where: where}, nil, strings.Repeat("12", 20),
			"`core/pool.go` moved in " + renamed + " (Ana, 2026-01-01: rename), now core/reserve.go", evidence.Moved,
		},
	} {
		v := evaluate(t, r, evidence.Watched{ID: name, Patterns: tc.patterns, Seen: tc.seen, Claims: []evidence.WatchedClaim{tc.claim}})
		if c := v.Claims[0]; c.String() != tc.want || c.State != tc.state {
			t.Errorf("%s: %s: %s\nwant %s: %s", name, c.State, c, tc.state, tc.want)
		}
		if v.SeenKnown != (tc.seen == seen) || v.SeenIn != v.SeenKnown {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestEvaluateComparesStates(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("core/pool.go", body).Write("README.md", "x\n").Commit("start")
	first := g.Head()
	g.Branch("side").Write("core/pool.go", "package shop\n").Commit("break it")
	breaking := g.Head()
	g.Write("x", "").Commit("written here")
	seen := g.Head()
	g.Checkout("main").Write("README.md", "y\n").Commit("meanwhile")
	r := open(t, g)
	w := evidence.Watched{ID: "a", Patterns: []string{"core/"}, Seen: seen, Breaking: []string{breaking, first, "unknown", g.Head()}}
	v := evaluate(t, r, w)
	if v.SeenIn || !v.SeenKnown || !slices.Equal(v.Contains, []string{breaking, first}) || v.Commit != g.Head() {
		t.Errorf("before the merge: %+v", v)
	}
	w.SeenTree = v.Tree
	g.Merge("side")
	if v = evaluate(t, r, w); !v.SeenIn || !v.AsSeen || v.Tree == w.SeenTree {
		t.Errorf("after the merge: %+v", v)
	}
	g.Git("revert", "-m", "1", "--no-edit", "HEAD")
	if v = evaluate(t, r, w); !v.AsSeen {
		t.Errorf("after it was taken back: %+v", v)
	}
	if verdicts, err := evidence.Evaluate(t.Context(), r, "", nil); err != nil || len(verdicts) != 0 {
		t.Errorf("nothing to look at: %v, %v", verdicts, err)
	}
}

// What breaks on a branch comes to main by another commit: whoever wrote on that branch knew it, and nobody else.
func TestEvaluateKnowsWhoseBranchBroke(t *testing.T) {
	t.Parallel()
	for name, bring := range map[string]func(g *gittest.Repo){
		"merged":          func(g *gittest.Repo) { g.Merge("work") },
		"squashed":        func(g *gittest.Repo) { g.Git("merge", "--quiet", "--squash", "work"); g.Commit("work, squashed") },
		"put on top":      func(g *gittest.Repo) { g.Git("cherry-pick", "main..work") },
		"merged, changed": func(g *gittest.Repo) { g.Merge("work"); g.Write("core/pool.py", "later = 1\n").Commit("more") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gittest.New(t).Write("core/pool.go", body).Write("go.mod", "module m\n").Commit("start")
			start := g.Head()
			g.Branch("work").Write("notes.txt", "begin\n").Commit("begin")
			before := g.Head()
			g.Remove("core/pool.go").Write("core/pool.py", "size = 1\n").Commit("another language")
			knew := g.Head()
			g.Write("core/pool.py", "size = 2\nmore = 3\n").Commit("finish")
			finished := g.Head()
			g.Checkout("main").Write("other.txt", "meanwhile\n").Commit("meanwhile")
			parent := g.Head()
			bring(g)
			line := strings.Fields(g.Git("rev-list", "--first-parent", parent+"..HEAD"))
			breaking := line[len(line)-1]
			if name == "put on top" {
				breaking = line[1]
			}
			r := open(t, g)
			for at, want := range map[string]bool{start: false, before: false, knew: true, finished: true, parent: false} {
				v := evaluate(t, r, evidence.Watched{ID: "w", Patterns: []string{"core/**"}, Seen: at, Breaking: []string{breaking}})
				if got := slices.Contains(v.Contains, breaking); got != want {
					t.Errorf("written on %s: knew %t, want %t", g.Git("log", "-1", "--format=%s", at), got, want)
				}
			}
		})
	}
}

// A tree tells without the commit: that of a branch which nobody fetched.
func TestEvaluateKnowsByTree(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("core/pool.go", body).Commit("start")
	g.Remove("core/pool.go").Write("core/pool.py", "size = 1\n").Commit("another language")
	breaking := g.Head()
	r := open(t, g)
	tree := evaluate(t, r, evidence.Watched{ID: "w", Patterns: []string{"core/**"}}).Tree
	g.Write("core/pool.py", "size = 2\n").Commit("more")
	for seen, want := range map[string]bool{tree: true, "other": false} {
		v := evaluate(t, r, evidence.Watched{ID: "w", Patterns: []string{"core/**"}, Seen: strings.Repeat("1", 40), SeenTree: seen, Breaking: []string{breaking}})
		if slices.Contains(v.Contains, breaking) != want || v.AsSeen {
			t.Errorf("a tree %s: %+v", seen, v)
		}
	}
}

// Evidence that moved is measured by the files it was in.
func TestEvaluateMeasuresWhereEvidenceWas(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("core/pool.go", body).Write("core/other.txt", strings.Repeat("a line that stays\n", 60)).Commit("start")
	seen := g.Head()
	g.Rename("core/pool.go", "pool/pool.go").Commit("move")
	g.Write("pool/pool.go", "package pool\n\nfunc drainPool() {}\n").Commit("rewrite")
	w := evidence.Watched{ID: "w", Patterns: []string{"core/**"}, Seen: seen,
		Claims: []evidence.WatchedClaim{{Text: "drainPool", Kind: evidence.Symbol, Evidence: true, Where: []string{"pool/pool.go"}}}}
	v := evaluate(t, open(t, g), w)
	if v.Rewrite == nil || !slices.Equal(v.Rewrite.Files, []string{"core/pool.go"}) || v.Rewrite.Percent() < 50 {
		t.Errorf("rewritten: %+v", v.Rewrite)
	}
}

func TestTreeHash(t *testing.T) {
	t.Parallel()
	a, b, c := git.Entry{Path: "a/x", Blob: "1"}, git.Entry{Path: "b/x", Blob: "2"}, git.Entry{Path: "b/y", Blob: "3"}
	base := evidence.TreeHash([]git.Entry{a, b, c}, []string{"b/"})
	for name, same := range map[string]string{
		"order of entries": evidence.TreeHash([]git.Entry{c, b, a}, []string{"b/"}), "other files": evidence.TreeHash([]git.Entry{b, c}, []string{"b/"}),
		"another pattern": evidence.TreeHash([]git.Entry{a, b, c}, []string{"b/**", "b/x"}),
	} {
		if same != base {
			t.Errorf("%s changed the hash", name)
		}
	}
	for name, other := range map[string]string{
		"a text": evidence.TreeHash([]git.Entry{a, b, {Path: "b/y", Blob: "4"}}, []string{"b/"}), "a file less": evidence.TreeHash([]git.Entry{a, b}, []string{"b/"}),
		"a name": evidence.TreeHash([]git.Entry{a, b, {Path: "b/z", Blob: "3"}}, []string{"b/"}), "more files": evidence.TreeHash([]git.Entry{a, b, c}, []string{"b/", "a/"}),
	} {
		if other == base {
			t.Errorf("%s did not change the hash", name)
		}
	}
	if bound, unbound := evidence.TreeHash([]git.Entry{a}, []string{"b/"}), evidence.TreeHash([]git.Entry{a}, nil); bound == "" || unbound != "" {
		t.Errorf("nothing matches: %q; nothing is bound: %q", bound, unbound)
	}
}

func TestRewritten(t *testing.T) {
	t.Parallel()
	var lines []string
	for n := range 20 {
		lines = append(lines, fmt.Sprintf("\tresult%d := compute(%d, \"name\")", n, n))
	}
	text := func(ls []string) string { return "package p\n\nfunc run() {\n" + strings.Join(ls, "\n") + "\n}\n" }
	other := func(n int) []string { // the last n lines are others
		out := slices.Clone(lines)
		for i := range n {
			out[len(out)-1-i] = fmt.Sprintf("\tquite(another, line%d)", i)
		}
		return out
	}
	for name, tc := range map[string]struct {
		change func(*gittest.Repo)
		gone   int
		half   bool
		by     string
	}{
		"nothing":     {func(*gittest.Repo) {}, 0, false, ""},
		"a few lines": {func(g *gittest.Repo) { g.Write("a.go", text(other(4))).Commit("few") }, 4, false, "few"},
		"most lines": {func(g *gittest.Repo) {
			g.Write("a.go", text(other(3))).Commit("few").Write("a.go", text(other(16))).Commit("most")
		}, 16, true, "most"},
		"the file":    {func(g *gittest.Repo) { g.Remove("a.go").Commit("remove") }, 22, true, "remove"},
		"its name":    {func(g *gittest.Repo) { g.Rename("a.go", "b/c.go").Commit("rename") }, 0, false, ""},
		"name, lines": {func(g *gittest.Repo) { g.Rename("a.go", "c.go").Write("c.go", text(other(5))).Commit("both") }, 5, false, "both"},
		"the order": {func(g *gittest.Repo) {
			g.Write("a.go", text(append(slices.Clone(lines[10:]), lines[:10]...))).Commit("sort")
		}, 0, false, ""},
		"the format": {func(g *gittest.Repo) {
			g.Write("a.go", strings.NewReplacer("\t", "    ", "(", "(\n\t", `"`, "'", ")", ",\n)").Replace(text(lines))).Commit("format")
		}, 0, false, ""},
		"there, back":  {func(g *gittest.Repo) { g.Write("a.go", text(other(9))).Commit("there").Revert("HEAD") }, 0, false, ""},
		"other files":  {func(g *gittest.Repo) { g.Write("z.go", text(other(9))).Commit("more") }, 0, false, ""},
		"a short line": {func(g *gittest.Repo) { g.Write("short.go", "cargo(x) + 1\n").Commit("longer") }, 1, true, "longer"},
		"twins pruned": {func(g *gittest.Repo) { g.Write("twins.go", "check(everything)\n").Commit("prune") }, 3, false, "prune"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := []string{"a.go"}
			g := gittest.New(t).Write("a.go", text(lines)).Write("twins.go", strings.Repeat("check(everything)\n", 4)).Commit("start")
			g.Write("short.go", "go(x)\n").Commit("start")
			switch name {
			case "twins pruned":
				files = []string{"a.go", "twins.go"}
			case "a short line":
				files = []string{"short.go"}
			}
			seen := g.Head()
			tc.change(g)
			s, err := evidence.NewSearcher(t.Context(), open(t, g))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			r, err := s.Rewritten(t.Context(), seen, g.Head(), files)
			if err != nil {
				t.Fatal(err)
			}
			by := ""
			if r.Commit != nil {
				by = r.Commit.Subject
			}
			if r.Gone != tc.gone || (r.Percent() >= 50) != tc.half || by != tc.by || files[0] == "a.go" && len(files) == 1 && r.Lines != 22 {
				t.Errorf("%d of %d gone by %q, want %d by %q", r.Gone, r.Lines, by, tc.gone, tc.by)
			}
		})
	}
}

func TestRewrittenIsBounded(t *testing.T) {
	t.Parallel()
	g := gittest.New(t)
	var files []string
	for n := range evidence.MaxRewriteFiles + 1 {
		files = append(files, fmt.Sprintf("f%02d.go", n))
		g.Write(files[n], fmt.Sprintf("var x%d = 1\n", n))
	}
	g.Commit("start")
	s, err := evidence.NewSearcher(t.Context(), open(t, g))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tc := range []struct {
		files []string
		lines int
	}{{files, 0}, {files[:evidence.MaxRewriteFiles], 20}, {append(files[:5:5], files[:5]...), 5}, {[]string{"missing.go"}, 0}, {nil, 0}} {
		r, err := s.Rewritten(t.Context(), g.Head(), g.Head(), tc.files)
		if err != nil || (r == nil) != (tc.lines == 0) || r != nil && r.Lines != tc.lines {
			t.Errorf("%d files: %+v, %v; want %d lines", len(tc.files), r, err, tc.lines)
		}
	}
}

// A random history of one name: whatever happened on the way, the state is that of the last commit, and a commit is named
// that really took it.
func TestEvaluateFollowsAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		g := gittest.New(t).Write("a.go", body+"// 1\n").Commit("start")
		seen := g.Head()
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"take", "give", "format", "rename", "touch"}), 1, 4).Draw(rt, "steps")
		has, file, taken := true, "a.go", ""
		text := func() string {
			if has {
				return body
			}
			return strings.ReplaceAll(body, "drainPool", "emptyPool")
		}
		for n, step := range steps {
			switch step {
			case "take", "give":
				before := has
				has = step == "give"
				g.Write(file, text()).Commit(step)
				if before && !has {
					taken = g.Head()
				}
			case "format":
				g.Write(file, strings.ReplaceAll(text(), "\n", "\n\n")).Commit(step)
			case "rename":
				to := fmt.Sprintf("f%d.go", n)
				g.Rename(file, to).Commit(step)
				file = to
			case "touch":
				g.Write("other", step+fmt.Sprint(n)).Commit(step)
			}
		}
		v := evaluate(t, open(t, g), evidence.Watched{ID: "x", Seen: seen, Claims: []evidence.WatchedClaim{{Text: "drainPool", Kind: evidence.Symbol, Evidence: true, Where: []string{"a.go"}}}})
		c := v.Claims[0]
		switch {
		case has && (c.State != evidence.Holds || !slices.Equal(c.Now, []string{file})):
			rt.Errorf("after %v: %s, want it in %s", steps, c, file)
		case !has && (c.State != evidence.Gone || c.Commit == nil || c.Commit.ID != taken):
			rt.Errorf("after %v: %s, want it taken by %.7s", steps, c, taken)
		}
		if !slices.Contains(steps, "take") && v.Rewrite.Gone != 1 && v.Rewrite.Gone != 0 { // the comment at the end may be gone
			rt.Errorf("after %v: %+v", steps, v.Rewrite)
		}
	})
}
