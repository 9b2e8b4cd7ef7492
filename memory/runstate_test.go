package memory_test

import (
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/git/gittest"
	"github.com/stele-dev/stele/memory"
)

// boundedSequences is how many random histories a plain run of the tests lives through: about a minute. -rapid.checks=n asks
// for n.
const boundedSequences = 48

// TestRunStateMachine lets random histories happen to a real repository, its model and its memories, pushes runs of the real
// engine, and compares what is in doubt with what the oracle (runoracle_test.go) says, after every step.
func TestRunStateMachine(t *testing.T) {
	t.Parallel()
	limit := boundedSequences
	flag.Visit(func(f *flag.Flag) { // those that were given
		if f.Name == "rapid.checks" {
			limit = math.MaxInt
		}
	})
	h := newHarness(t)
	done, failing := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		if done >= limit && !failing {
			return
		}
		was := failing
		failing = true
		newMachine(t, rt, h).live()
		failing = was
		done++
	})
}

// machine is one history: a repository, a project with memories, and the oracle that follows both.
type machine struct {
	*oracle
	t    *testing.T
	rt   *rapid.T
	w    *world
	repo *gittest.Repo
	git  *git.Repository

	version int // of texts and facts, so that no two are alike
	forks   int
	pushes  []pushed // that the server took, to repeat them
	report  *drift.Report
}

type pushed struct {
	caller memory.Caller
	push   memory.RunPush
}

func newMachine(t *testing.T, rt *rapid.T, h *harness) *machine {
	t.Helper()
	m := &machine{oracle: newOracle(), t: t, rt: rt, w: h.world(t, nil), repo: gittest.New(t)}
	m.w.now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) // commits are made by this clock, too
	m.repo.Git("config", "gc.auto", "0")
	for n := range parts {
		for path, s := range freshSources(n, 0) {
			m.saveSource(path, s)
		}
	}
	m.writeText("go.mod", "module example.org/forest\n")
	m.saveDesign(initialDesign())
	m.commit("Begin")
	var err error
	m.git, err = git.Open(t.Context(), m.repo.Dir)
	m.must(err)
	in, err := drift.Source{Repository: m.git}.Load(t.Context(), "")
	m.must(err)
	_, err = m.w.ImportModel(t.Context(), m.w.c, memory.ModelImport{Model: in.Model, Bindings: in.Bindings, Source: in.ModelFile})
	m.must(err)
	m.stored = initialDesign()
	return m
}

func (m *machine) must(err error) {
	if err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(m.rt, label) }

// live lets things happen, and looks after each.
func (m *machine) live() {
	actions := []struct {
		weight int
		name   string
		do     func() bool // false: it cannot happen now
	}{
		{6, "remember", m.remember}, {8, "change", m.change}, {8, "push", m.pushHead}, {2, "push again", m.pushAgain}, {2, "older run", m.pushOlder},
		{2, "shallow run", m.pushShallow}, {2, "proposal", m.propose}, {5, "branch", m.branch}, {3, "revert", m.revert}, {3, "confirm", m.confirm},
		{1, "dispute", m.dispute}, {2, "supersede", m.supersede}, {2, "rename", m.rename}, {2, "rebind", m.rebind}, {2, "model", m.editModel},
		{2, "waive", m.waive}, {2, "force-push", m.forcePush},
	}
	var menu []int
	for n, a := range actions {
		for range a.weight {
			menu = append(menu, n)
		}
	}
	m.remember()
	for range rapid.IntRange(6, 12).Draw(m.rt, "steps") {
		a := actions[menu[m.pick(len(menu), "action")]]
		m.w.now = m.w.now.Add(time.Minute)
		m.rt.Logf("-- %s", a.name)
		if !a.do() {
			m.rt.Logf("   (not now)")
		}
		m.look(a.name)
	}
}

// look compares every memory with the oracle.
func (m *machine) look(after string) {
	shown := m.shown()
	for _, r := range m.memories {
		if r.live && shown[r.handle] != r.String() {
			m.rt.Fatalf("after %s, %s (%s) is %q, and should be %q", after, r.handle, r.about(), shown[r.handle], r.String())
		}
	}
}

func (m *machine) shown() map[string]string {
	var handles []string
	for _, r := range m.memories {
		if r.live {
			handles = append(handles, r.handle)
		}
	}
	out := map[string]string{}
	for chunk := range slices.Chunk(handles, 20) {
		got, err := m.w.Get(m.t.Context(), m.w.c, chunk)
		m.must(err)
		for _, g := range got {
			var doubts []string
			for _, f := range g.Flags {
				if f.Flag == "verify" || f.Flag == "disputed" {
					doubts = append(doubts, f.Flag)
				}
			}
			slices.Sort(doubts)
			out[g.Handle] = strings.Join(slices.Compact(doubts), " ")
		}
	}
	return out
}

// writeText puts a file into the working tree; "" takes it away.
func (m *machine) writeText(path, text string) {
	name := filepath.Join(m.repo.Dir, filepath.FromSlash(path))
	if text == "" {
		m.must(os.Remove(name))
		return
	}
	m.must(os.MkdirAll(filepath.Dir(name), 0o750))
	m.must(os.WriteFile(name, []byte(text), 0o600))
}

// commit commits the working tree, and tells the oracle.
func (m *machine) commit(message string) string {
	m.repo.Git("add", "--all")
	m.repo.At(m.w.now).Commit(message)
	return m.observe(m.head())
}

// all are the commits that the repository has, those that no branch leads to among them.
func (m *machine) all() map[*snap]bool {
	out := map[*snap]bool{}
	for _, s := range m.commits {
		out[s] = true
	}
	return out
}

// evaluate makes the run of a commit, as a continuous integration would.
func (m *machine) evaluate(repo *git.Repository, commit string) memory.RunPush {
	ctx := m.t.Context()
	source := drift.Source{Repository: repo}
	in, err := source.Load(ctx, commit)
	m.must(err)
	report, err := drift.Run(ctx, repo, in, drift.Options{Source: &source})
	m.must(err)
	list, err := m.w.Watch(ctx, m.ci(), "")
	m.must(err)
	verdicts, err := evidence.Evaluate(ctx, repo, commit, drift.Aim(in, report, list.Memories))
	m.must(err)
	line, err := repo.Ancestors(ctx, commit, memory.MaxAncestors)
	m.must(err)
	m.report = report
	return memory.RunPush{
		Repository: "example.org/forest", Branch: "main", DefaultBranch: "main", Ancestors: line, Tracked: true, Report: *report,
		Model: in.Model, Bindings: in.Bindings, Source: in.ModelFile, Verdicts: verdicts,
	}
}

func (m *machine) ci() memory.Caller {
	c := m.w.c
	c.Role, c.Tracked = memory.RoleCI, true
	return c
}

// deliver pushes a run of the tracked branch, and compares its answer.
func (m *machine) deliver(p push, run memory.RunPush) {
	out, err := m.w.PushRun(m.t.Context(), m.ci(), run)
	m.must(err)
	repeated := slices.ContainsFunc(m.pushes, func(o pushed) bool { return o.push.Report.Commit == run.Report.Commit })
	if out.Repeated != repeated || !out.Tracked || out.Held != nil {
		m.rt.Fatalf("the run of %s: %+v", p.at.id[:7], out)
	}
	if repeated {
		return
	}
	m.pushes = append(m.pushes, pushed{m.ci(), run})
	_, late := m.baseline(p)
	want := m.take(p)
	got := doubtedBy(out)
	m.rt.Logf("   run of %s: late %t, doubts %v", p.at.id[:7], out.Late, got)
	if out.Late != late || !slices.Equal(got, some(want)) {
		m.rt.Fatalf("the run of %s doubts %v (late %t), and should doubt %v (late %t)", p.at.id[:7], got, out.Late, want, late)
	}
}

func some(list []string) []string { return append([]string{}, list...) }

func doubtedBy(out memory.RunAnswer) []string {
	list := []string{}
	for _, d := range out.Doubted {
		list = append(list, d.Handle)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (m *machine) pushCommit(s *snap) {
	m.deliver(push{at: s, line: s.line(), here: m.all(), now: m.w.now}, m.evaluate(m.git, s.id))
}

// pushHead runs on the newest commit, sometimes in a clone that has what branches lead to, and nothing else.
func (m *machine) pushHead() bool {
	if m.pick(4, "in a clone") > 0 {
		m.pushCommit(m.tip())
		return true
	}
	clone := m.repo.Clone()
	repo, err := git.Open(m.t.Context(), clone.Dir)
	m.must(err)
	p := push{at: m.tip(), line: m.tip().line(), here: map[*snap]bool{}, now: m.w.now}
	for id := range strings.FieldsSeq(clone.Git("rev-list", "--all")) {
		p.here[m.commits[id]] = true
	}
	m.deliver(p, m.evaluate(repo, p.at.id))
	return true
}

func (m *machine) pushOlder() bool {
	line := m.tip().line()
	if len(line) < 2 {
		return false
	}
	m.pushCommit(line[1+m.pick(min(3, len(line)-1), "older")])
	return true
}

func (m *machine) pushAgain() bool {
	if len(m.pushes) == 0 {
		return false
	}
	p := m.pushes[m.pick(len(m.pushes), "run")]
	before := m.shown()
	out, err := m.w.PushRun(m.t.Context(), p.caller, p.push)
	m.must(err)
	if after := m.shown(); !out.Repeated || !maps.Equal(before, after) {
		m.rt.Fatalf("the same run again: %+v, and %v became %v", out, before, after)
	}
	return true
}

func (m *machine) pushShallow() bool {
	depth := 1 + m.pick(4, "depth")
	clone := m.repo.Shallow(depth)
	repo, err := git.Open(m.t.Context(), clone.Dir)
	m.must(err)
	p := push{at: m.tip(), here: map[*snap]bool{}, now: m.w.now, shallow: true}
	for id := range strings.FieldsSeq(clone.Git("rev-list", "HEAD")) {
		p.here[m.commits[id]] = true
	}
	for at := p.at; p.here[at]; at = at.first() {
		p.line = append(p.line, at)
	}
	p.shallow = clone.Git("rev-parse", "--is-shallow-repository") == "true"
	m.rt.Logf("   depth %d, %d commits", depth, len(p.here))
	m.deliver(p, m.evaluate(repo, p.at.id))
	return true
}

// propose pushes a run that must change nothing.
func (m *machine) propose() bool {
	run := m.evaluate(m.git, m.head())
	run.Branch, run.Tracked = "feature", rapid.Bool().Draw(m.rt, "as if tracked")
	before := m.shown()
	out, err := m.w.PushRun(m.t.Context(), m.ci(), run)
	m.must(err)
	if after := m.shown(); out.Tracked || !maps.Equal(before, after) {
		m.rt.Fatalf("a proposal: %+v, and %v became %v", out, before, after)
	}
	want, told := m.foresee(push{at: m.tip(), line: m.tip().line(), here: m.all(), now: m.w.now})
	if got := doubtedBy(out); told && !out.Repeated && !slices.Equal(got, want) {
		m.rt.Fatalf("a proposal of %s would doubt %v, and should %v: %+v", m.tip().id[:7], got, want, out)
	}
	return true
}
