package evidence

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// oracle answers as Evaluate does, by asking git anew for each question: nothing is kept but what a text holds.
type oracle struct {
	t    testing.TB
	repo *git.Repository
	s    *Searcher
}

// oldTree is a commit with all of its files.
type oldTree struct {
	o       *oracle
	commit  string
	entries []git.Entry
	byPath  map[string]git.Entry
}

func (o *oracle) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *oracle) at(commit string) *oldTree {
	entries, err := o.repo.Tree(o.t.Context(), commit)
	o.check(err)
	t := &oldTree{o, commit, entries, map[string]git.Entry{}}
	for _, e := range entries {
		t.byPath[e.Path] = e
	}
	return t
}

func (t *oldTree) searchable(e git.Entry) bool {
	return searchable(e) && e.Size > 0 && e.Size <= maxText
}

func (t *oldTree) find(c Claim, within []string) []string {
	if c.Kind == Path {
		return t.paths(c.Text)
	}
	if within == nil {
		for _, e := range t.entries {
			within = append(within, e.Path)
		}
	}
	var entries []git.Entry
	for _, p := range within {
		if e, ok := t.byPath[p]; ok && t.searchable(e) {
			entries = append(entries, e)
		}
	}
	needles := t.o.s.wanted(c)
	t.o.check(t.o.s.scan(t.o.t.Context(), entries))
	var files []string
	held := map[int]bool{}
	for _, e := range entries {
		for _, n := range t.o.s.scanned[e.Blob].held {
			held[n] = true
			if n == needles[len(needles)-1] {
				files = append(files, e.Path)
			}
		}
	}
	for _, n := range needles {
		if !held[n] {
			return nil
		}
	}
	slices.Sort(files)
	return files
}

// all are the files and folders.
func (t *oldTree) all() []string {
	var out []string
	for _, e := range t.entries {
		for p := e.Path; p != "."; p = path.Dir(p) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *oldTree) paths(p string) []string {
	p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
	var out []string
	if strings.ContainsAny(p, wild) {
		for _, e := range t.entries {
			if c4model.Matches("/"+p, e.Path) || c4model.Matches("**/"+p, e.Path) {
				out = append(out, e.Path)
			}
		}
		return out
	}
	for _, f := range t.all() {
		if f == p || strings.HasSuffix(f, "/"+p) {
			out = append(out, f)
		}
	}
	return out
}

func (t *oldTree) exists(p string) bool { return slices.Contains(t.all(), p) }

func (t *oldTree) declared(c Claim, files []string) bool {
	if c.Kind == Path {
		return meant(c.Text, files, "")
	}
	for _, f := range files {
		text, err := t.o.s.text(t.byPath[f].Blob)
		t.o.check(err)
		for line := range strings.Lines(text) {
			if slices.ContainsFunc(c.words(), func(name string) bool { return declaredIn(line, name, c.Kind) }) {
				return true
			}
		}
	}
	return false
}

// files are the bound files; nil when nothing is bound.
func (t *oldTree) files(w Watched) []string {
	if len(w.Bound()) == 0 {
		return nil
	}
	out := []string{}
	for _, e := range t.entries {
		if slices.ContainsFunc(w.Bound(), func(p string) bool { return c4model.Matches(p, e.Path) }) {
			out = append(out, e.Path)
		}
	}
	return out
}

func (o *oracle) known(ref string) string {
	if ref == "" {
		return ""
	}
	c, err := o.repo.Commit(o.t.Context(), ref)
	if err != nil && !problem.Is(err, problem.NotFound) && !problem.Is(err, problem.Invalid) && !problem.Is(err, problem.Ambiguous) {
		o.check(err)
	}
	return c.ID
}

func (o *oracle) contains(a, d string) bool {
	in, err := o.repo.Contains(o.t.Context(), a, d)
	o.check(err)
	return in
}

func (o *oracle) history(q git.HistoryQuery) []git.Change {
	var out []git.Change
	q.Limit = maxChanges
	for c, err := range o.repo.History(o.t.Context(), q) {
		o.check(err)
		out = append(out, c)
	}
	return out
}

func (o *oracle) verdict(head string, w Watched) Verdict {
	now := o.at(head)
	v := Verdict{ID: w.ID, Commit: head, Contains: []string{}, Claims: []ClaimVerdict{}, Tree: TreeHash(now.entries, w.Bound())}
	v.AsSeen = w.SeenTree != "" && w.SeenTree == v.Tree
	var then *oldTree
	if seen := o.known(w.Seen); seen != "" {
		then = o.at(seen)
		v.SeenKnown, v.SeenIn = true, o.contains(seen, head)
		v.AsSeen = v.AsSeen || v.Tree != "" && TreeHash(then.entries, w.Bound()) == v.Tree
	}
	for _, b := range w.Breaking {
		if id := o.known(b); id != "" && o.knew(w, then, id) {
			v.Contains = append(v.Contains, b)
		}
	}
	for _, c := range w.Claims {
		v.Claims = append(v.Claims, o.claim(w, c, now, then))
	}
	if then != nil {
		v.Rewrite = o.rewritten(then, now, o.ground(w, then))
	}
	return v
}

func (o *oracle) knew(w Watched, then *oldTree, id string) bool {
	if then != nil && o.contains(id, then.commit) {
		return true
	}
	if len(w.Bound()) == 0 || then == nil && w.SeenTree == "" {
		return false
	}
	after := o.at(id)
	left := TreeHash(after.entries, w.Bound())
	if left == w.SeenTree || then != nil && left == TreeHash(then.entries, w.Bound()) {
		return true
	}
	if then == nil {
		return false
	}
	commit, err := o.repo.Commit(o.t.Context(), id)
	o.check(err)
	if len(commit.Parents) == 0 || o.known(commit.Parents[0]) == "" {
		return false
	}
	fork, err := o.repo.MergeBase(o.t.Context(), then.commit, commit.Parents[0])
	o.check(err)
	if fork == "" || fork == then.commit {
		return false
	}
	was, is, forked, seen := o.at(commit.Parents[0]).files(w), after.files(w), o.at(fork).files(w), then.files(w)
	in := slices.Contains[[]string]
	took, brought, alike, both := 0, 0, false, false
	for _, p := range was {
		if !in(is, p) {
			if in(seen, p) {
				return false
			}
			took++
			alike = alike || in(forked, p)
		}
	}
	for _, p := range seen {
		if !in(forked, p) && !in(was, p) && !in(is, p) {
			return false
		}
	}
	for _, p := range is {
		if !in(was, p) {
			brought++
			both = both || in(seen, p) && !in(forked, p)
		}
	}
	return (took == 0 || alike) && (brought == 0 || both) && took+brought > 0
}

func (o *oracle) claim(w Watched, c WatchedClaim, now, then *oldTree) ClaimVerdict {
	claim := Claim{Text: c.Text, Kind: c.Kind}
	v := ClaimVerdict{Claim: claim, State: NeverFound, Before: some(c.Where), Now: []string{}}
	within := now.files(w)
	if within != nil {
		within = append(within, c.Where...)
	}
	if found := now.find(claim, within); len(found) > 0 {
		v.State, v.Now, v.Evidence = Holds, some(found), c.Evidence || now.declared(claim, found)
		return v
	}
	evidence, before, seen := c.Evidence, c.Where, ""
	if then != nil {
		seen = then.commit
		where := then.find(claim, then.files(w))
		if len(where) > 0 && (evidence || then.declared(claim, where)) {
			evidence = true
			if len(before) == 0 {
				before = where
			}
		}
	}
	if !evidence {
		return v
	}
	return o.follow(claim, seen, now, before, within)
}

func (o *oracle) follow(c Claim, seen string, at *oldTree, before, within []string) ClaimVerdict {
	v := ClaimVerdict{Claim: c, State: Gone, Evidence: true, Before: some(before), Now: []string{}}
	if c.Kind == Path {
		o.followPath(&v, at, seen, before)
		return v
	}
	if found := at.find(c, nil); len(found) > 0 && within != nil {
		v.State, v.Now = Moved, some(found)
	}
	lost := c
	for _, word := range slices.Backward(c.words()) {
		if part := (Claim{Text: word, Kind: Symbol}); len(at.find(part, within)) == 0 {
			lost = part
			break
		}
	}
	from, where := seen, before
	for range maxMoves {
		left := o.left(lost, from, at.commit, where)
		if left == nil {
			return v
		}
		v.Commit, v.Before = named(left.Commit), some(left.files)
		if within != nil {
			break
		}
		if where = o.at(left.ID).find(lost, nil); len(where) == 0 {
			return v
		}
		from = left.ID
	}
	return v
}

func (o *oracle) left(c Claim, seen, head string, files []string) *leaving {
	if len(files) == 0 {
		return nil
	}
	for _, change := range o.history(git.HistoryQuery{Commit: head, Until: seen, Paths: files[:min(len(files), maxWhere)]}) {
		out := &leaving{Commit: change.Commit}
		for _, f := range change.Files {
			var entries []git.Entry
			for _, blob := range []string{f.Old, f.New} {
				if blob != "" {
					entries = append(entries, git.Entry{Blob: blob})
				}
			}
			o.check(o.s.scan(o.t.Context(), entries))
			if o.s.holds(f.Old, c) && !o.s.holds(f.New, c) {
				out.files = append(out.files, f.Path)
			}
		}
		if len(out.files) > 0 {
			return out
		}
	}
	return nil
}

func (o *oracle) followPath(v *ClaimVerdict, at *oldTree, seen string, before []string) {
	removed := func(from string, where []string) (*git.Commit, string) {
		if len(where) == 0 {
			return nil, ""
		}
		for _, change := range o.history(git.HistoryQuery{Commit: at.commit, Until: from, Paths: where, Whole: true}) {
			if removed, to := removal(change.Files, where); removed {
				return &change.Commit, to
			}
		}
		return nil, ""
	}
	var there []string
	for _, p := range before {
		if at.exists(p) {
			there = append(there, p)
		}
	}
	if len(there) > 0 {
		v.State, v.Now = Moved, some(there)
		if left, _ := removed(seen, []string{v.Text}); left != nil {
			v.Commit = named(*left)
		}
		return
	}
	from, where := seen, before[:min(len(before), maxWhere)]
	for range maxMoves {
		left, to := removed(from, where)
		if left == nil {
			return
		}
		v.Commit = named(*left)
		if to == "" {
			return
		}
		if at.exists(to) {
			v.State, v.Now = Moved, some([]string{to})
			return
		}
		from, where = left.ID, []string{to}
	}
}

func (o *oracle) ground(w Watched, then *oldTree) []string {
	var out []string
	for _, c := range w.Claims {
		if !c.Evidence {
			continue
		}
		where := slices.DeleteFunc(slices.Clone(c.Where), func(f string) bool { _, there := then.byPath[f]; return !there })
		for _, within := range [][]string{then.files(w), nil} {
			if len(where) == 0 {
				where = then.find(Claim{Text: c.Text, Kind: c.Kind}, within)
			}
		}
		out = append(out, where...)
	}
	if len(out) == 0 {
		out = then.files(w)
	}
	return out
}

func (o *oracle) text(blob string) string {
	text, err := o.s.text(blob)
	o.check(err)
	return text
}

func (o *oracle) rewritten(then, now *oldTree, files []string) *Rewrite {
	out := &Rewrite{Files: []string{}, Renamed: []Rename{}}
	var before, after []git.Entry
	for _, f := range slices.Compact(slices.Sorted(slices.Values(files))) {
		if e, ok := then.byPath[f]; ok && then.searchable(e) {
			before = append(before, e)
		}
	}
	if len(before) == 0 || len(before) > MaxRewriteFiles {
		return nil
	}
	diff, err := o.repo.Diff(o.t.Context(), then.commit, now.commit)
	o.check(err)
	var paths []string
	for _, e := range before {
		out.Files, paths = append(out.Files, e.Path), append(paths, e.Path)
		if found, ok := now.byPath[e.Path]; ok {
			after = append(after, found)
			continue
		}
		for _, c := range diff {
			if c.Status == 'R' && c.From == e.Path {
				out.Renamed = append(out.Renamed, Rename{From: e.Path, To: c.Path})
				after, paths = append(after, now.byPath[c.Path]), append(paths, c.Path)
			}
		}
	}
	same, err := o.s.unchanged(out, &before, &after)
	o.check(err)
	if same {
		return out
	}
	present, gone := newLines(), map[string]int{}
	for _, e := range after {
		present.add(o.text(e.Blob))
	}
	for _, e := range before {
		total, lost := present.without(o.text(e.Blob))
		out.Lines += total
		for _, l := range lost {
			gone[l]++
			out.Gone++
		}
	}
	if out.Gone == 0 {
		return out
	}
	for _, change := range o.history(git.HistoryQuery{Commit: now.commit, Until: then.commit, Paths: paths}) {
		took, present, lost := 0, newLines(), map[string]int{}
		for _, f := range change.Files {
			if f.New != "" {
				present.add(o.text(f.New))
			}
		}
		for _, f := range change.Files {
			if f.Old == "" {
				continue
			}
			_, lines := present.without(o.text(f.Old))
			for _, l := range lines {
				if lost[l]++; lost[l] <= gone[l] {
					took++
				}
			}
		}
		if took > out.Share {
			out.Share, out.Commit = took, named(change.Commit)
		}
	}
	return out
}
