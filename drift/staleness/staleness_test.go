package staleness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stele-dev/stele/drift/staleness"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/internal/problem"
)

// program writes a script that is asked as Universal Ctags is. It knows functions of Go.
func program(t *testing.T, version, features, answer string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ctags")
	script := "#!/bin/sh\ncase \"$1\" in\n--version) echo '" + version + "'; exit;;\n--list-features) echo '" + features + "'; exit;;\nesac\n" + answer + "\n"
	if err := os.WriteFile(name, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

const functions = `while read -r f; do
  sed -n 's|^func \([A-Za-z_]*\)(.*|{"_type": "tag", "name": "\1", "path": "@"}|p' "$f" | sed "s|@|$f|"
done`

func standIn(t *testing.T) string {
	t.Helper()
	return program(t, "Universal Ctags 0 of a test", "json supports json", functions)
}

func replay(t *testing.T, g *gittest.Repo, o staleness.Options) (*staleness.Report, error) {
	t.Helper()
	repo, err := git.Open(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return staleness.Replay(t.Context(), repo, o)
}

func replayed(t *testing.T, g *gittest.Repo, o staleness.Options) *staleness.Report {
	t.Helper()
	r, err := replay(t, g, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines are texts that are alike in nothing.
func lines(what string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "var %s%d = %d // %s\n", what, i, i*i, strings.Repeat(what, i%5+1))
	}
	return b.String()
}

const notes = `# Notes

- Call ` + "`drainPool`" + ` before everything is closed.
- Old pools are in ` + "`core/old.go`" + `, which nobody likes.
- Whoever needs a pool calls ` + "`fillPool`" + ` first.
- Nothing is lost by ` + "`keepAll`" + `.
- Orders go to ` + "`/api/v1/orders`" + ` only.
- A store is opened by ` + "`PoolStore.openPool`" + ` alone.
- The list in ` + "`core/table.go`" + ` is sorted.
- Nobody ever wrote ` + "`neverWritten`" + `.

## ` + "`fillPool()`" + `
`

// shop is a repository whose documents are right.
func shop(t *testing.T) *gittest.Repo {
	t.Helper()
	return gittest.New(t).WriteAll(map[string]string{
		"CLAUDE.md":       notes,
		"docs/changelog":  "`keepAll` is new\n",
		"core/pool.go":    "package core\n\nfunc drainPool() {}\n\nfunc keepAll() {}\n" + lines("pool", 20),
		"core/fill.go":    "package core\n\nfunc fillPool() {}\n" + lines("fill", 20),
		"core/old.go":     "package core\n" + lines("old", 20),
		"core/store.go":   "package core\n\ntype PoolStore struct{}\n\nfunc openPool() {}\n" + lines("store", 20),
		"core/table.go":   "package core\n" + lines("table", 20),
		"core/serve.go":   "package core\n\nconst orders = \"/api/v1/orders\"\n" + lines("serve", 20),
		"vendor/x/x.go":   "package x\n\nfunc drainPool() {}\n",
		"docs/picture.md": "\xff\x00binary",
	}).Commit("start")
}

// told are the alerts in words: step, line of the document, rule, and what the truths say.
func told(r *staleness.Report, rules ...staleness.Rule) []string {
	out := []string{}
	for _, a := range r.Alerts {
		if slices.Contains(rules, a.Rule) {
			out = append(out, fmt.Sprintf("%d %d %s %s/%s", a.Step, r.Statements[a.Statement].Line, a.Rule, a.Mechanical, a.Human))
		}
	}
	return out
}

func scored(t *testing.T, truth *staleness.Truth, rule staleness.Rule) staleness.Score {
	t.Helper()
	for _, s := range truth.Scores {
		if s.Rule == rule {
			return s
		}
	}
	t.Fatalf("nothing is said about %s", rule)
	return staleness.Score{}
}

// walked changes the shop six times: each change is a step.
func walked(t *testing.T) (*gittest.Repo, []func()) {
	t.Helper()
	g := shop(t)
	return g, []func(){
		func() { // the name is gone, and its document says it still; another function of the file stays
			g.Write("core/pool.go", "package core\n\nfunc emptyPool() {}\n\nfunc keepAll() {}\n"+lines("pool", 20)).Commit("rename a function")
		},
		func() { // a file and a function that go elsewhere are not gone
			g.Rename("core/old.go", "core/former.go").Commit("rename a file")
			g.Write("core/fill.go", "package core\n"+lines("fill", 20)).Write("core/other.go", "package core\n\nfunc fillPool() {}\n").Commit("move a function")
		},
		func() { // gone for the rule, not known to the oracle
			g.Write("core/serve.go", "package core\n"+lines("serve", 20)).Commit("no route")
		},
		func() { // gone for the rule, and not for the oracle, which knows functions only
			g.Write("core/store.go", "package core\n\nfunc openPool() {}\n"+lines("store", 20)).Commit("no type")
		},
		func() { // half of it is another text
			g.Write("core/table.go", "package core\n"+lines("table", 8)+lines("chair", 30)).Commit("other list")
		},
		func() { // the authors see to two statements, in the step in which a file of one of them changes
			g.Write("CLAUDE.md", strings.NewReplacer("Call `drainPool`", "Call `emptyPool`", "is sorted", "is in order", "\n## `fillPool()`\n", "").Replace(notes)).
				Write("core/table.go", "package core\n"+lines("stool", 30)).Commit("mend the notes")
		},
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	g, changes := walked(t)
	first := g.Head()
	for _, change := range changes {
		change()
	}
	r := replayed(t, g, staleness.Options{From: first, Ctags: standIn(t)})
	if len(r.Steps) != 7 || r.Steps[6].Commit != g.Head() || r.From.Commit != first || r.Ungrounded != 1 || len(r.Statements) != 8 || r.Documents != 1 {
		t.Fatalf("got %+v", r)
	}
	want := []string{
		"1 3 evidence_gone right/right",
		"2 4 moved wrong/wrong",
		"3 5 moved wrong/wrong",
		"3 12 moved wrong/right",
		"4 7 evidence_gone unknown/wrong",
		"5 8 evidence_gone wrong/wrong",
		"6 9 rewritten_50 wrong/right",
	}
	if diff := cmp.Diff(want, told(r, staleness.EvidenceGone, staleness.Moved, "rewritten_50")); diff != "" {
		t.Error(diff)
	}
	want = []string{
		"1 3 file_changed right/right", "1 6 file_changed wrong/wrong", "2 4 file_changed wrong/wrong", "3 5 file_changed wrong/wrong", "3 12 file_changed wrong/right",
		"4 7 file_changed unknown/wrong", "5 8 file_changed wrong/wrong", "6 9 file_changed wrong/right", "7 9 file_changed wrong/at_edit",
	}
	if diff := cmp.Diff(want, told(r, staleness.FileChanged)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"2 4 file_removed wrong/wrong"}, told(r, staleness.FileRemoved)); diff != "" {
		t.Error(diff)
	}
	half, third, all := 0.5, 1.0/3, 1.0
	two, one := 2.0, 1.0
	if diff := cmp.Diff(staleness.Score{Rule: staleness.EvidenceGone, Alerts: 2, Right: 1, Unknown: 1, Catches: 1, Precision: &half, Recall: &all, AlertsPerCatch: &two},
		scored(t, r.Mechanical, staleness.EvidenceGone)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(staleness.Score{Rule: "rewritten_50", Alerts: 1, Right: 1, Catches: 1, Precision: &one, Recall: &third, AlertsPerCatch: &one},
		scored(t, r.Human, "rewritten_50")); diff != "" {
		t.Error(diff)
	}
	if s := scored(t, r.Human, staleness.FileChanged); s.AtEdit != 1 || s.Right != 4 || s.Catches != 3 {
		t.Errorf("changed files: %+v", s)
	}
	if s := scored(t, r.Mechanical, staleness.PathGone); s.Precision != nil || s.AlertsPerCatch != nil || *s.Recall != 0 {
		t.Errorf("a rule that never spoke has no precision: %+v", s)
	}
	if s := r.Statements[7]; s.Text != "`fillPool()`" || s.Edited != 7 {
		t.Errorf("a heading is gone though a sentence says its word: %+v", s)
	}
	if r.Mechanical.Statements != 7 || r.Mechanical.Stale != 1 || r.Human.Statements != 8 || r.Human.Stale != 3 {
		t.Errorf("mechanical %+v\nhuman %+v", r.Mechanical, r.Human)
	}
	stated := r.Statements[0]
	if stated.Stale != 1 || stated.Edited != 7 || !slices.Equal(stated.Judged, []string{"drainPool"}) {
		t.Errorf("got %+v", stated)
	}
}

// What a rule says at a step is what it said before anything later was written.
func TestRulesDoNotSeeTheFuture(t *testing.T) {
	t.Parallel()
	g, changes := walked(t)
	first := g.Head()
	var before []*staleness.Report
	for _, change := range changes {
		change()
		before = append(before, replayed(t, g, staleness.Options{From: first, Ctags: standIn(t)}))
	}
	last := before[len(before)-1]
	for _, b := range before {
		bare := func(r *staleness.Report) []staleness.Alert {
			var out []staleness.Alert
			for _, a := range r.Alerts {
				if a.Mechanical, a.Human = "", ""; a.Step <= len(b.Steps) {
					out = append(out, a)
				}
			}
			return out
		}
		if diff := cmp.Diff(bare(b), bare(last)); diff != "" || !slices.Equal(b.Steps, last.Steps[:len(b.Steps)]) {
			t.Errorf("after %d steps: %s", len(b.Steps), diff)
		}
	}
}

func TestReplayIsTheSameAgain(t *testing.T) {
	t.Parallel()
	g, changes := walked(t)
	first := g.Head()
	for _, change := range changes {
		change()
	}
	var said []string
	for range 2 {
		r := replayed(t, g, staleness.Options{From: first, Steps: 3, Ctags: standIn(t)})
		b, err := json.Marshal(r)
		if err != nil || len(r.Steps) != 3 || r.Steps[2].Commit != g.Head() || strings.Contains(string(b), ":null,\"human\"") {
			t.Fatalf("%v, %s", err, b)
		}
		said = append(said, string(b))
	}
	if said[0] != said[1] {
		t.Errorf("%s\n%s", said[0], said[1])
	}
}

// The program itself and the one that stands in for it see the same functions.
func TestUniversalCtags(t *testing.T) {
	t.Parallel()
	g, changes := walked(t)
	first := g.Head()
	changes[0]()
	programs := []string{standIn(t)}
	if found, err := exec.LookPath("ctags"); err == nil {
		if version, err := exec.CommandContext(t.Context(), found, "--version").Output(); err == nil && strings.HasPrefix(string(version), "Universal Ctags") {
			programs = append(programs, "")
		}
	}
	for _, p := range programs {
		r := replayed(t, g, staleness.Options{From: first, Ctags: p})
		if r.Mechanical == nil || r.Mechanical.Stale != 1 || r.Statements[0].Stale != 1 || r.Oracle == "" {
			t.Errorf("%q: %+v, %s", p, r.Mechanical, r.NotMeasured)
		}
	}
}

func TestWithoutOracleNothingIsGuessed(t *testing.T) {
	t.Parallel()
	g, changes := walked(t)
	first := g.Head()
	changes[0]()
	for name, tc := range map[string]struct{ program, want string }{
		"not there":     {filepath.Join(t.TempDir(), "none"), "is not installed"},
		"another ctags": {program(t, "Exuberant Ctags 5.8", "json", functions), "is not Universal Ctags"},
		"no JSON":       {program(t, "Universal Ctags 5.9.0", "wildcards", functions), "without JSON"},
	} {
		r := replayed(t, g, staleness.Options{From: first, Ctags: tc.program})
		if r.Mechanical != nil || !strings.Contains(r.NotMeasured, tc.want) || r.Oracle != "" || r.Human.Statements != 8 {
			t.Errorf("%s: %+v, %q, %+v", name, r.Mechanical, r.NotMeasured, r.Human)
		}
		for _, a := range r.Alerts {
			if a.Mechanical != "" {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	g := shop(t)
	first := g.Head()
	g.Branch("side").Write("x", "x").Commit("aside")
	side := g.Head()
	g.Checkout("main").Write("y", "y").Commit("next")
	empty := gittest.New(t).Write("a.go", "package a\n").Commit("start").Write("b.go", "package a\n").Commit("next")
	for name, tc := range map[string]struct {
		g    *gittest.Repo
		o    staleness.Options
		want string
	}{
		"another branch":      {g, staleness.Options{From: side}, "not on the chain of first parents"},
		"nothing after":       {g, staleness.Options{From: "HEAD"}, "nothing comes after HEAD"},
		"no such commit":      {g, staleness.Options{From: "never"}, "never"},
		"no such end":         {g, staleness.Options{To: "never"}, "never"},
		"nothing stated":      {empty, staleness.Options{From: "HEAD~1"}, "quotes anything"},
		"a program that errs": {g, staleness.Options{From: first, Ctags: program(t, "Universal Ctags 1", "json", "echo out of disk >&2; exit 3")}, "out of disk"},
		"another's answer":    {g, staleness.Options{From: first, Ctags: program(t, "Universal Ctags 1", "json", `cat >/dev/null; echo '{"name": "drainPool", "path": "../etc/x"}'`)}, "none of the texts"},
	} {
		if _, err := replay(t, tc.g, tc.o); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		} else if p, ok := problem.As(err); ok && len(p.Fixes) == 0 {
			t.Errorf("%s: no fix: %v", name, err)
		}
	}
	repo, err := git.Open(t.Context(), g.Dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = staleness.Replay(ctx, repo, staleness.Options{From: first, Ctags: standIn(t), Progress: func(int, int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestReplayBeginsAtADay(t *testing.T) {
	t.Parallel()
	g := shop(t)
	want := []string{g.Head()}
	for n, day := range []string{"2026-03-01", "2027-03-01", "2029-02-01"} {
		when, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		g.At(when.Add(23*time.Hour)).Write("core/pool.go", fmt.Sprintf("package core\n\nfunc drainPool() {}\n\nconst n = %d\n", n)).Commit("at " + day)
		want = append(want, g.Head())
	}
	for from, n := range map[string]int{"": 1, "2020-01-01": 0, "2026-01-01": 0, "2026-02-28": 0, "2026-03-01": 1, "2027-12-31": 2} {
		if r := replayed(t, g, staleness.Options{From: from, Steps: 100, Ctags: "none"}); r.From.Commit != want[n] || len(r.Steps) != 3-n {
			t.Errorf("from %q: began at %s, %d steps, want %d", from, r.From.Time, len(r.Steps), 3-n)
		}
	}
}
