package memory_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
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
const boundedSequences = 16

// TestRunStateMachine lets random histories happen to a real repository, its model and its memories, pushes runs of the real
// engine, and compares what is in doubt with what the oracle (runoracle_test.go) says, after every step.
func TestRunStateMachine(t *testing.T) {
	t.Parallel()
	limit := boundedSequences
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() != f.DefValue {
		limit = 1 << 30
	}
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

func (m *machine) head() string { return m.repo.Head() }

// tip is the commit that is checked out.
func (m *machine) tip() *snap { return m.commits[m.head()] }

// observe reads what is checked out as a commit.
func (m *machine) observe(id string) string {
	if m.commits[id] != nil {
		return id
	}
	s := &snap{id: id, files: map[string]string{}}
	for _, p := range strings.Fields(m.repo.Git("rev-list", "--parents", "-n", "1", id))[1:] {
		if m.commits[p] == nil {
			m.rt.Fatalf("%s has a parent %s that nobody made", id, p)
		}
		s.parents = append(s.parents, m.commits[p])
	}
	m.must(filepath.WalkDir(m.repo.Dir, func(name string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		text, err := os.ReadFile(name)
		path, _ := filepath.Rel(m.repo.Dir, name)
		s.files[filepath.ToSlash(path)] = string(text)
		return err
	}))
	s.design = m.designs[s.files["workspace.dsl"]+"\x00"+s.files["stele.yaml"]]
	m.commits[id], m.times[s] = s, m.w.now
	return id
}

func (m *machine) saveDesign(d design) {
	model, settings := d.texts()
	m.designs[model+"\x00"+settings] = d
	m.writeText("workspace.dsl", model)
	m.writeText("stele.yaml", settings)
}

func (m *machine) saveSource(path string, s source) {
	m.sources[s.String()] = s
	m.writeText(path, s.String())
}

// files are those of a part, wherever they are.
func (m *machine) files(s *snap, part int) map[string]source {
	out := map[string]source{}
	for path, text := range s.files {
		if src, ok := m.sources[text]; ok && src.part == part {
			out[path] = src
		}
	}
	return out
}

// alter changes the code of a part in some way, and commits it.
func (m *machine) alter(part int) {
	files := m.files(m.tip(), part)
	if len(files) == 0 {
		restored := freshSources(part, 0)
		if rapid.Bool().Draw(m.rt, "anew") {
			m.version++
			restored = freshSources(part, m.version)
		}
		for path, s := range restored {
			m.saveSource(path, s)
		}
		m.rt.Logf("   %s restored: %s", parts[part], m.commit("Restore " + parts[part])[:7])
		return
	}
	kinds := []string{"vanish", "vanish", "move", "minor", "major", "symbol", "language"}
	kind := kinds[m.pick(len(kinds), "kind")]
	m.version++
	for _, path := range slices.Sorted(maps.Keys(files)) {
		s, to := files[path], path
		switch kind {
		case "vanish":
			m.writeText(path, "")
			continue
		case "move":
			if to = "moved/" + path; strings.HasPrefix(path, "moved/") {
				to = strings.TrimPrefix(path, "moved/")
			}
		case "minor":
			s.minor = m.version
		case "major":
			s.major = m.version
		case "symbol":
			s.symbol = !s.symbol && !s.extra
		case "language":
			if to = strings.TrimSuffix(path, ".go") + ".py"; s.python {
				to = strings.TrimSuffix(path, ".py") + ".go"
			}
			s.python = !s.python
		}
		if to != path {
			m.writeText(path, "")
		}
		m.saveSource(to, s)
	}
	m.rt.Logf("   %s %s: %s", parts[part], kind, m.commit(kind + " " + parts[part])[:7])
}

func (m *machine) change() bool {
	m.alter(m.pick(len(parts), "part"))
	return true
}

// seen is what a writer has who works on the commit that is checked out.
func (m *machine) seen(of []int) (*memory.Seen, *snap, map[string]string) {
	tip := m.tip()
	out := &memory.Seen{Commit: tip.id, Branch: "main"}
	homes := m.stored.homes(of)
	if len(homes) == 0 || rapid.IntRange(0, 3).Draw(m.rt, "without tree") == 0 {
		return out, tip, nil
	}
	out.TreeOf = func(ctx context.Context, patterns []string) string {
		entries, err := m.git.Tree(ctx, tip.id)
		m.must(err)
		return evidence.TreeHash(entries, patterns)
	}
	return out, tip, tip.below(homes)
}

func (m *machine) remember() bool {
	of := []int{m.pick(len(parts), "of")}
	if m.pick(4, "two") == 0 {
		of = append(of, (of[0]+1)%len(parts))
	}
	m.rememberOf(of)
	return true
}

func (m *machine) rememberOf(of []int) {
	var keys []string
	for _, n := range of {
		if m.stored.plots[n].removed {
			return
		}
		keys = append(keys, "sys.box."+m.stored.plots[n].key)
	}
	m.version++
	r := &recollection{live: true, parts: of, quotes: -1, confirmed: m.w.now, doubts: map[string]bool{}, moved: map[string]check{}}
	text := fmt.Sprintf("Fact %d holds there.", m.version)
	if rapid.Bool().Draw(m.rt, "quotes") {
		r.quotes = of[0]
		text = fmt.Sprintf("Fact %d: `%s` does it.", m.version, symbolOf(of[0]))
	}
	seen, s, had := m.seen(of)
	out, err := m.w.Remember(m.t.Context(), m.w.c, memory.RememberRequest{Content: text, Elements: keys, Separate: true, Seen: seen})
	m.must(err)
	r.handle, r.seen, r.had = out.Memory.Handle, s, had
	m.memories = append(m.memories, r)
	m.rt.Logf("   %s %s", r.handle, r.about())
}

// anyone picks a live memory.
func (m *machine) anyone() *recollection {
	var live []*recollection
	for _, r := range m.memories {
		if r.live {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return nil
	}
	for _, r := range live { // doubted ones are the interesting ones
		if r.String() != "" && rapid.Bool().Draw(m.rt, "doubted") {
			return r
		}
	}
	return live[m.pick(len(live), "memory")]
}

func (m *machine) confirm() bool {
	r := m.anyone()
	if r == nil {
		return false
	}
	req := memory.ConfirmRequest{Memory: r.handle, Holds: true}
	var s *snap
	var had map[string]string
	if rapid.Bool().Draw(m.rt, "seen") {
		req.Seen, s, had = m.seen(r.parts)
	} else if len(m.runs) > 0 { // what the last run saw is assumed
		s = m.runs[len(m.runs)-1].at
	}
	_, err := m.w.Confirm(m.t.Context(), m.w.c, req)
	m.must(err)
	r.confirm(s, had, m.w.now)
	m.rt.Logf("   %s %s", r.handle, r.about())
	return true
}

func (m *machine) dispute() bool {
	r := m.anyone()
	if r == nil {
		return false
	}
	_, err := m.w.Confirm(m.t.Context(), m.w.c, memory.ConfirmRequest{Memory: r.handle})
	m.must(err)
	r.disputed = true
	return true
}

func (m *machine) supersede() bool {
	r := m.anyone()
	if r == nil {
		return false
	}
	m.version++
	seen, s, had := m.seen(r.parts)
	out, err := m.w.Remember(m.t.Context(), m.w.c, memory.RememberRequest{Content: fmt.Sprintf("Fact %d, corrected.", m.version), Supersedes: r.handle, Seen: seen})
	m.must(err)
	r.live = false
	next := &recollection{handle: out.Memory.Handle, live: true, parts: r.parts, quotes: -1, seen: s, had: had, confirmed: m.w.now, doubts: map[string]bool{}, moved: map[string]check{}}
	m.memories = append(m.memories, next)
	m.rt.Logf("   %s by %s %s", r.handle, next.handle, next.about())
	return true
}

// redesign changes the model, its bindings or waivers, and commits it.
func (m *machine) redesign(what string, change func(d *design)) {
	d := m.tip().design
	change(&d)
	m.saveDesign(d)
	m.rt.Logf("   %s: %s", what, m.commit(what)[:7])
}

func (m *machine) rename() bool {
	n := m.pick(len(parts), "part")
	m.version++
	m.redesign("Rename "+parts[n], func(d *design) { d.plots[n].key = fmt.Sprintf("%s%d", parts[n], m.version) })
	return true
}

func (m *machine) rebind() bool {
	n := m.pick(len(parts), "part")
	home := []string{"", "moved/", "nowhere/"}[m.pick(3, "home")] + parts[n]
	for path := range m.files(m.tip(), n) { // most rebind to where the files are
		if rapid.Bool().Draw(m.rt, "follow") {
			home = filepath.ToSlash(filepath.Dir(path))
		}
		break
	}
	m.redesign("Bind to "+home, func(d *design) { d.plots[n].home = home })
	return true
}

// editModel takes one element out of the model, or puts it back.
func (m *machine) editModel() bool {
	n := m.pick(len(parts), "part")
	m.redesign("Edit the model", func(d *design) {
		for i := range d.plots {
			if d.plots[i].removed {
				d.plots[i].removed = false
				return
			}
		}
		d.plots[n].removed = true
	})
	return true
}

func (m *machine) waive() bool {
	if m.report == nil || len(m.report.Findings) == 0 {
		return false
	}
	tip := m.tip()
	for _, f := range m.report.Findings {
		for _, c := range tip.fails() {
			if strings.TrimPrefix(f.Element, "sys.box.") == tip.design.plots[c.part].key && (f.Check == drift.LanguageMismatch && c.language ||
				f.Check == drift.Existence && !c.language && strings.Trim(f.Subject, "/*") == c.home) && !strings.Contains(tip.design.waived, f.Fingerprint) {
				m.redesign("Waive", func(d *design) {
					d.waived = strings.TrimSpace(d.waived + " " + f.Fingerprint)
					d.known += c.key(*d) + "\n"
				})
				return true
			}
		}
	}
	return false
}

// merged gives what a branch and main make together, if no file was changed by both.
func merged(base, ours, theirs *snap) (map[string]string, bool) {
	out := maps.Clone(ours.files)
	for _, s := range []*snap{base, theirs} {
		for path := range s.files {
			b, o, t := base.files[path], ours.files[path], theirs.files[path]
			switch {
			case t == b || o == t:
			case o != b:
				return nil, false
			case t == "":
				delete(out, path)
			default:
				out[path] = t
			}
		}
	}
	return out, !maps.Equal(out, ours.files)
}

// branch works on a branch, remembers there, and brings it to main, or not yet.
func (m *machine) branch() bool {
	base := m.tip()
	m.forks++
	name := fmt.Sprintf("work%d", m.forks)
	m.repo.Branch(name)
	part := m.pick(len(parts), "part")
	var made []*snap
	writeAfter := m.pick(3, "write after")
	for n := range 1 + m.pick(2, "commits") {
		m.w.now = m.w.now.Add(time.Minute)
		m.alter(part)
		made = append(made, m.tip())
		if n == writeAfter || n == 0 && writeAfter == 2 {
			m.rememberOf([]int{part})
		}
	}
	m.repo.Checkout("main")
	if rapid.Bool().Draw(m.rt, "meanwhile") {
		m.w.now = m.w.now.Add(time.Minute)
		m.alter(m.pick(len(parts), "other part"))
	}
	if m.pick(3, "run meanwhile") == 0 {
		m.w.now = m.w.now.Add(time.Minute)
		m.pushHead()
		m.look("run before merging")
	}
	m.w.now = m.w.now.Add(time.Minute)
	end := []string{"merge", "squash", "rebase", "leave"}[m.pick(4, "end")]
	theirs := made[len(made)-1]
	if _, ok := merged(base, m.tip(), theirs); !ok {
		end = "leave"
	}
	switch end {
	case "merge":
		m.mergeIn(base, theirs, "Merge "+name)
	case "squash":
		m.bring(base, theirs, "Squash "+name)
	case "rebase":
		from := base
		for _, s := range made {
			m.bring(from, s, "Again on main")
			from = s
		}
	}
	m.rt.Logf("   %s %s: %s", end, name, m.head()[:7])
	if end != "leave" && rapid.Bool().Draw(m.rt, "delete branch") {
		m.repo.Git("branch", "-D", name)
	}
	return true
}

func (m *machine) revert() bool {
	tip := m.tip()
	line := tip.line()
	at := line[m.pick(min(4, len(line)), "which")]
	if len(at.parents) != 1 {
		return false
	}
	if _, ok := merged(at, tip, at.parents[0]); !ok || tip.design != at.design || at.design != at.parents[0].design {
		return false
	}
	m.bring(at, at.parents[0], "Revert "+at.id[:7])
	return true
}

// bring commits what changed between two commits, if that can be, without asking git, which would follow renames.
func (m *machine) bring(from, to *snap, message string) {
	if files, ok := merged(from, m.tip(), to); ok {
		m.become(files)
		m.rt.Logf("   %s: %s", message, m.commit(message)[:7])
	}
}

// mergeIn commits a merge.
func (m *machine) mergeIn(base, theirs *snap, message string) {
	files, _ := merged(base, m.tip(), theirs)
	m.become(files)
	m.repo.Git("add", "--all")
	m.repo.At(m.w.now)
	id := m.repo.Git("commit-tree", m.repo.Git("write-tree"), "-p", m.head(), "-p", theirs.id, "-m", message)
	m.repo.Git("reset", "--quiet", "--hard", id)
	m.observe(id)
}

// become makes the working tree hold files.
func (m *machine) become(files map[string]string) {
	for path, text := range m.tip().files {
		if files[path] != text {
			m.writeText(path, files[path])
		}
	}
	for path, text := range files {
		m.writeText(path, text)
	}
}

func (m *machine) forcePush() bool {
	line := m.tip().line()
	if len(line) < 3 {
		return false
	}
	back := line[1+m.pick(2, "back")]
	m.repo.Git("reset", "--quiet", "--hard", back.id)
	m.rt.Logf("   back to %s", back.id[:7])
	m.alter(m.pick(len(parts), "part"))
	return true
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
	for _, id := range strings.Fields(clone.Git("rev-list", "--all")) {
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
	for _, id := range strings.Fields(clone.Git("rev-list", "HEAD")) {
		p.here[m.commits[id]] = true
	}
	for at := p.at; p.here[at]; at = at.first() {
		p.line = append(p.line, at)
	}
	p.shallow = !p.here[p.line[len(p.line)-1]] || len(p.line[len(p.line)-1].parents) > 0
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
		m.rt.Fatalf("a proposal of %s would doubt %v, and should %v", m.tip().id[:7], got, want)
	}
	return true
}
