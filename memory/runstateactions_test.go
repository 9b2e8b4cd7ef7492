package memory_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/memory"
)

// What happens to the repository, its model and its memories in TestRunStateMachine.

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
