package evidence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

func open(t *testing.T, g *gittest.Repo) *git.Repository {
	t.Helper()
	r, err := git.Open(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said are the alerts of a check of the usual documents, in words.
func said(t *testing.T, g *gittest.Repo) []string {
	t.Helper()
	report, err := evidence.Check(t.Context(), open(t, g), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, a := range report.Alerts {
		for _, c := range a.Claims {
			out = append(out, c.String())
		}
	}
	return out
}

const body = "package shop\n\n// what it does\nfunc drainPool() int {\n\treturn poolSize * 2\n}\n\nfunc other() {}\n"

func TestCheckSaysWhatLeftAndWhen(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *gittest.Repo {
		t.Helper()
		return gittest.New(t).Write("core/pool.go", body).Write("go.mod", "module shop\n").
			Write("CLAUDE.md", "# Notes\n\nCall `drainPool` in `core/pool.go` last.\nThe route is `/api/v1/orders`.\n").Commit("start")
	}
	for name, tc := range map[string]struct {
		change func(*gittest.Repo)
		want   []string // the hash of HEAD stands for itself as HEAD
	}{
		"nothing": {func(*gittest.Repo) {}, nil},
		"a symbol is gone": {func(g *gittest.Repo) {
			g.As("Bo", "bo@example.com").Write("core/pool.go", strings.ReplaceAll(body, "drainPool", "emptyPool")).Commit("rename the function")
		}, []string{"`drainPool` left core/pool.go in HEAD (Bo, 2026-01-01: rename the function)"}},
		"a symbol moved to another file": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Write("core/drain.go", body).Commit("split")
		}, nil},
		"a symbol is gone after it moved": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Write("core/drain.go", body).Commit("split")
			g.Write("core/drain.go", "package shop\n").Commit("drop it")
		}, []string{"`drainPool` left core/drain.go in HEAD (Ana, 2026-01-01: drop it)"}},
		"only a longer name is left": {func(g *gittest.Repo) {
			g.Write("core/pool.go", strings.ReplaceAll(body, "drainPool", "drainPools")).Commit("more of them")
		}, []string{"`drainPool` left core/pool.go in HEAD (Ana, 2026-01-01: more of them)"}},
		"only documents and vendored code name it": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Write("docs/a.md", "`drainPool`\n").Write("vendor/x/x.go", "func drainPool() {}\n").Commit("drop it")
		}, []string{"`drainPool` left core/pool.go in HEAD (Ana, 2026-01-01: drop it)"}},
		"a file is renamed": {func(g *gittest.Repo) {
			g.Rename("core/pool.go", "core/reserve.go").Commit("a better name")
		}, []string{"`core/pool.go` moved in HEAD (Ana, 2026-01-01: a better name), now core/reserve.go"}},
		"a file is renamed twice": {func(g *gittest.Repo) {
			g.Rename("core/pool.go", "core/reserve.go").Commit("a better name").Rename("core/reserve.go", "stock/reserve.go").Commit("another folder")
		}, []string{"`core/pool.go` moved in HEAD (Ana, 2026-01-01: another folder), now stock/reserve.go"}},
		"a file is removed": {func(g *gittest.Repo) {
			g.Write("b.go", strings.ReplaceAll(body, "int", "int64")).Commit("copy").Remove("core/pool.go").Commit("remove")
		}, []string{"`core/pool.go` was removed in HEAD (Ana, 2026-01-01: remove)"}},
		"a symbol comes back": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Commit("drop it").Write("other.go", body).Commit("bring it back")
		}, nil},
		"it goes, comes back and goes": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Commit("drop it").Write("core/pool.go", body).Commit("bring it back")
			g.Write("core/pool.go", "package shop\n\nvar x int\n").Commit("drop it again")
		}, []string{"`drainPool` left core/pool.go in HEAD (Ana, 2026-01-01: drop it again)"}},
		"the statement was edited after": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Commit("drop it")
			g.Write("CLAUDE.md", "# Notes\n\nDo call `drainPool` in `core/pool.go` last.\n").Commit("reword")
		}, nil},
		"another line was edited after": {func(g *gittest.Repo) {
			g.Write("core/pool.go", "package shop\n").Commit("drop it")
			g.Write("CLAUDE.md", "# Remarks\n\nCall `drainPool` in `core/pool.go`   last.\nThe end.\n").Commit("reword")
			g.Write("x", "").Commit("more")
		}, []string{"`drainPool` left core/pool.go in HEAD~2 (Ana, 2026-01-01: drop it)"}},
		"a branch brought it": {func(g *gittest.Repo) {
			g.Branch("side").Write("core/pool.go", "package shop\n").Commit("on the side").Checkout("main").Write("x", "").Commit("meanwhile").Merge("side")
		}, []string{"`drainPool` left core/pool.go in HEAD (Ana, 2026-01-01: Merge branch 'side')"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := start(t)
			tc.change(g)
			got := said(t, g)
			var want []string
			for _, w := range tc.want {
				ref := "HEAD"
				if strings.Contains(w, "HEAD~2") {
					ref = "HEAD~2"
				}
				want = append(want, strings.Replace(w, ref, g.Git("rev-parse", ref)[:7], 1))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestCheckAlarmsAboutNothingThatWasNeverThere(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a.go", "package a\n\n// only a comment names commentOnly\nvar realName = 1\n").
		Write("README.md", "Use `otherTool`, `some/other.go` and `commentOnly`. We removed `realName`.\n").Commit("start").
		Write("a.go", "package a\n").Commit("drop")
	if got := said(t, g); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestCheckReport(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a.go", "var keptName, lostName = 1, 2\n").
		Write("README.md", "One `keptName`.\nTwo `lostName`\nand `neverName`, `lostName`. No claim here.\n").Commit("start")
	seen := g.Head()
	g.Write("a.go", "var keptName = 1\n").Commit("drop")
	r := open(t, g)
	report, err := evidence.Check(t.Context(), r, "main", []string{"README.md"})
	if err != nil {
		t.Fatal(err)
	}
	if report.Commit != g.Head() || report.Shallow || len(report.Files) != 1 || len(report.Alerts) != 1 {
		t.Fatalf("got %+v", report)
	}
	if got, want := report.Files[0], (evidence.Document{Path: "README.md", Statements: 2, Claims: 4, Held: 1, Lost: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	a := report.Alerts[0]
	if a.File != "README.md" || a.Line != 2 || a.End != 3 || a.Seen != seen || a.Statement != "Two `lostName` and `neverName`, `lostName`." {
		t.Errorf("got %+v", a)
	}
	if c := a.Claims[0]; c.State != evidence.Gone || !slices.Equal(c.Before, []string{"a.go"}) || len(c.Now) != 0 || c.Commit.ID != g.Head() || c.Line != 2 {
		t.Errorf("got %+v", c)
	}
	if earlier, err := evidence.Check(t.Context(), r, seen, nil); err != nil || len(earlier.Alerts) != 0 {
		t.Errorf("at the earlier commit: %+v, %v", earlier, err)
	}
}

func TestCheckChoosesDocuments(t *testing.T) {
	t.Parallel()
	const text = "`some_name`\n"
	g := gittest.New(t)
	for _, name := range []string{"README.md", "AGENTS.md", "docs/a.md", "docs/sub/b.rst", "docs/CHANGELOG.md", "docs/x.go", "src/README.md", "caf\xe9.md", "notes"} {
		g.Write(name, text)
	}
	g.Link("CLAUDE.md", "AGENTS.md").Link("sub/CLAUDE.md", "../CLAUDE.md").Link("loop.md", "loop.md").Link("out.md", "/etc/hosts").Commit("start")
	r := open(t, g)
	for _, tc := range []struct{ names, want []string }{
		{nil, []string{"AGENTS.md", "README.md", "docs/a.md", "docs/sub/b.rst"}},
		{[]string{"docs/CHANGELOG.md"}, []string{"docs/CHANGELOG.md"}},
		{[]string{"docs"}, []string{"docs/a.md", "docs/sub/b.rst"}},
		{[]string{"./docs/a.md", "docs/a.md", "notes"}, []string{"docs/a.md", "notes"}},
		{[]string{"sub/CLAUDE.md", "AGENTS.md", "CLAUDE.md"}, []string{"AGENTS.md"}},
		{[]string{"src/*.md", "caf\xe9.md"}, []string{"caf\xe9.md", "src/README.md"}},
		{[]string{"."}, []string{"AGENTS.md", "README.md", "caf\xe9.md", "docs/a.md", "docs/sub/b.rst", "src/README.md"}},
	} {
		report, err := evidence.Check(t.Context(), r, "", tc.names)
		if err != nil {
			t.Errorf("%q: %v", tc.names, err)
			continue
		}
		var got []string
		for _, f := range report.Files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.names, got, tc.want)
		}
	}
	for _, names := range [][]string{{"missing.md"}, {"loop.md"}, {"out.md"}, {"README.md", "nowhere"}, {"src/*.rst"}} {
		if _, err := evidence.Check(t.Context(), r, "", names); !problem.Is(err, problem.Invalid) {
			t.Errorf("%q: %v", names, err)
		}
	}
	if _, err := evidence.Check(t.Context(), open(t, gittest.New(t).Write("x", "").Commit("x")), "", nil); !problem.Is(err, problem.Invalid) {
		t.Errorf("without documents: %v", err)
	}
	if _, err := evidence.Check(t.Context(), r, "nowhere", nil); !problem.Is(err, problem.NotFound) {
		t.Errorf("at no commit: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := evidence.Check(ended, r, "", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

func TestCheckOfAShallowCloneKnowsWhatItCan(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a.go", "var lostName = 1\n").Write("README.md", "`lostName`\n").Commit("start").
		Write("b", "").Commit("more").Write("a.go", "var x = 1\n").Commit("drop")
	if got := said(t, g.Shallow(1)); len(got) != 0 {
		t.Errorf("the text and the code of one commit: %q", got)
	}
	if got := said(t, g.Shallow(2)); len(got) != 1 || !strings.Contains(got[0], g.Head()[:7]) {
		t.Errorf("with the commit in which it left: %q", got)
	}
}

func TestAStatementIsAsNewAsItsNewestLine(t *testing.T) {
	t.Parallel()
	g := gittest.New(t).Write("a.go", "var lostName = 1\n").Write("README.md", "Here `lostName`\nis named.\n").Commit("start").
		Write("a.go", "var x = 1\n").Commit("drop")
	if got := said(t, g); len(got) != 1 {
		t.Errorf("before the edit: %q", got)
	}
	if got := said(t, g.Write("README.md", "Here `lostName`\nis still named.\n").Commit("reword")); len(got) != 0 {
		t.Errorf("after the edit: %q", got)
	}
}
