package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// Watched is a text whose ground is watched. A server sends it to whoever has the repository, and gets a Verdict back: no
// word of the text but what it quotes travels.
type Watched struct {
	ID       string         `json:"id"`        // opaque; comes back in the verdict
	Elements []string       `json:"elements"`  // keys of the elements it is attached to, for reports
	Same     []string       `json:"same"`      // property stele.id of those elements that have one, by which a model with other keys knows them
	Files    []string       `json:"files"`     // files it is about, from the top of the repository
	Patterns []string       `json:"patterns"`  // bindings of its elements, and its own globs
	Seen     string         `json:"seen"`      // commit that its writer had; "" when unknown
	SeenTree string         `json:"seen_tree"` // TreeHash of the bound files then; "" when unknown
	Breaking []string       `json:"breaking"`  // commits of which the server wants to know whether Seen contains them
	Claims   []WatchedClaim `json:"claims"`
}

// WatchedClaim is a claim with what is known about it.
type WatchedClaim struct {
	Text     string   `json:"text"`
	Kind     Kind     `json:"kind"`
	Evidence bool     `json:"evidence"` // it was found by an earlier run
	Where    []string `json:"where"`    // files it was found in last
}

// Verdict is what a commit says about a watched text.
type Verdict struct {
	ID        string         `json:"id"`
	Commit    string         `json:"commit"`     // full hash of what was looked at
	Tree      string         `json:"tree"`       // TreeHash of the bound files now
	AsSeen    bool           `json:"as_seen"`    // the bound files are as the writer had them
	SeenKnown bool           `json:"seen_known"` // the history here has Seen
	SeenIn    bool           `json:"seen_in"`    // Commit contains Seen
	Contains  []string       `json:"contains"`   // those of Breaking that Seen contains, or does as well; see evaluator.knew
	Claims    []ClaimVerdict `json:"claims"`     // in the order of Watched
	Rewrite   *Rewrite       `json:"rewrite"`    // of the files of its evidence, else of its bound files; null when that cannot be said
}

// Evaluate looks at watched texts from a commit ("" is HEAD). A claim that is evidence, or was at the commit that
// its writer had, is followed when it is not where it was; any other is only looked for.
func Evaluate(ctx context.Context, repo *git.Repository, head string, watched []Watched) ([]Verdict, error) {
	commit, err := repo.Commit(ctx, head)
	if err != nil {
		return nil, err
	}
	s, err := NewSearcher(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.evaluate(ctx, commit.ID, watched, true)
}

// Judge is Evaluate by a searcher, which remembers what it read, at a commit named by its full hash. It leaves out how much
// was rewritten: see Compare.
func (s *Searcher) Judge(ctx context.Context, head string, watched []Watched) ([]Verdict, error) {
	return s.evaluate(ctx, head, watched, false)
}

func (s *Searcher) evaluate(ctx context.Context, head string, watched []Watched, rewritten bool) ([]Verdict, error) {
	for _, w := range watched {
		for _, c := range w.Claims {
			s.Want(Claim{Text: c.Text, Kind: c.Kind})
		}
	}
	e := &evaluator{repo: s.repo, s: s, commits: map[string]string{}, bound: map[string]map[string][]string{}, trees: map[treeKey]string{}, within: map[[2]string]bool{},
		changed: map[changeKey]bool{}, bases: map[[2]string]string{}}
	var err error
	if e.now, err = s.At(ctx, head); err != nil {
		return nil, err
	}
	order := make([]int, len(watched)) // by commit, so that each tree is read once
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(watched[a].Seen, watched[b].Seen) })
	out := make([]Verdict, len(watched))
	for _, n := range order {
		if out[n], err = e.evaluate(ctx, watched[n], rewritten); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// evaluator is one run of Evaluate.
type evaluator struct {
	repo    *git.Repository
	s       *Searcher
	now     *Snapshot
	commits map[string]string              // full hashes of the commits that were asked for; "" for those that are not here
	bound   map[string]map[string][]string // files, by commit and pattern
	trees   map[treeKey]string
	within  map[[2]string]bool   // ancestor and descendant
	changed map[changeKey]bool   // answers of changedAlike
	bases   map[[2]string]string // merge bases
}

// treeKey names the files of some patterns at a commit.
type treeKey struct{ commit, patterns string }

func (e *evaluator) evaluate(ctx context.Context, w Watched, rewritten bool) (Verdict, error) {
	v := Verdict{ID: w.ID, Commit: e.now.Commit, Contains: []string{}, Claims: []ClaimVerdict{}}
	files := e.files(e.now, w)
	v.Tree = e.tree(e.now, w)
	v.AsSeen = w.SeenTree != "" && w.SeenTree == v.Tree
	seen, err := e.known(ctx, w.Seen)
	if err != nil {
		return v, err
	}
	var then *Snapshot // of the commit that the writer had, if it is here
	if v.SeenKnown = seen != ""; v.SeenKnown {
		if then, err = e.s.At(ctx, seen); err != nil {
			return v, err
		}
		v.AsSeen = v.AsSeen || v.Tree != "" && e.tree(then, w) == v.Tree
		if v.SeenIn, err = e.contains(ctx, seen, e.now.Commit); err != nil {
			return v, err
		}
	}
	for _, b := range w.Breaking {
		knew, err := e.knew(ctx, w, then, b)
		if err != nil {
			return v, err
		}
		if knew {
			v.Contains = append(v.Contains, b)
		}
	}
	for _, c := range w.Claims {
		cv, err := e.claim(ctx, w, c, files, then)
		if err != nil {
			return v, err
		}
		v.Claims = append(v.Claims, cv)
	}
	if then != nil && rewritten {
		ground, err := e.ground(ctx, w, then)
		if err != nil {
			return v, err
		}
		if v.Rewrite, err = e.s.Rewritten(ctx, then.Commit, e.now.Commit, ground); err != nil {
			return v, err
		}
	}
	return v, nil
}

// changeKey names what two commits did to the files of some patterns.
type changeKey struct{ seen, breaking, patterns string }

// knew tells whether a text was written against what a commit broke: the writer had that commit, or the bound files as it left
// them, or a line of history that had done the same to them, such as a branch that was merged, squashed or put on top later.
func (e *evaluator) knew(ctx context.Context, w Watched, then *Snapshot, breaking string) (bool, error) {
	id, err := e.known(ctx, breaking)
	if err != nil || id == "" {
		return false, err
	}
	if then != nil {
		if in, err := e.contains(ctx, id, then.Commit); err != nil || in {
			return in, err
		}
	}
	if len(w.Bound()) == 0 || then == nil && w.SeenTree == "" {
		return false, nil
	}
	after, err := e.s.At(ctx, id)
	if err != nil {
		return false, err
	}
	left := e.tree(after, w)
	if left == w.SeenTree || then != nil && left == e.tree(then, w) {
		return true, nil
	}
	if then == nil {
		return false, nil
	}
	key := changeKey{then.Commit, id, strings.Join(patternsOf(w), "\x00")}
	alike, ok := e.changed[key]
	if !ok {
		if alike, err = e.changedAlike(ctx, w, then, after); err != nil {
			return false, err
		}
		e.changed[key] = alike
	}
	return alike, nil
}

// changedAlike tells whether the line of history that a writer was on had done to the bound files what a commit did to them: had
// taken away what it took, and brought some of what it brought.
func (e *evaluator) changedAlike(ctx context.Context, w Watched, then, after *Snapshot) (bool, error) {
	commit, err := e.repo.Commit(ctx, after.Commit)
	if err != nil || len(commit.Parents) == 0 {
		return false, err
	}
	parent := commit.Parents[0]
	if id, err := e.known(ctx, parent); err != nil || id == "" { // where a shallow history was cut
		return false, err
	}
	before, err := e.s.At(ctx, parent)
	if err != nil {
		return false, err
	}
	fork, err := e.fork(ctx, then.Commit, parent)
	if err != nil || fork == "" || fork == then.Commit {
		return false, err
	}
	base, err := e.s.At(ctx, fork)
	if err != nil {
		return false, err
	}
	was, is := e.paths(before, w), e.paths(after, w)
	forked, seen := e.paths(base, w), e.paths(then, w)
	took, brought := 0, 0 // what the commit did
	alike := false        // and the other line had done
	for p := range was {
		if is[p] {
			continue
		}
		if took++; seen[p] {
			return false, nil
		}
		alike = alike || forked[p]
	}
	for p := range seen {
		if !forked[p] && !was[p] && !is[p] { // that line did something else
			return false, nil
		}
	}
	both := false
	for p := range is {
		if !was[p] {
			brought++
			both = both || seen[p] && !forked[p]
		}
	}
	return (took == 0 || alike) && (brought == 0 || both) && took+brought > 0, nil
}

// fork is where two lines of history parted, asked once.
func (e *evaluator) fork(ctx context.Context, a, b string) (string, error) {
	key := [2]string{a, b}
	base, ok := e.bases[key]
	if !ok {
		var err error
		if base, err = e.repo.MergeBase(ctx, a, b); err != nil {
			return "", err
		}
		e.bases[key] = base
	}
	return base, nil
}

// paths are the bound files at a commit, to ask for.
func (e *evaluator) paths(t *Snapshot, w Watched) map[string]bool {
	out := map[string]bool{}
	for _, f := range e.files(t, w) {
		out[f] = true
	}
	return out
}

// patternsOf are the patterns of everything a text is about, in order.
func patternsOf(w Watched) []string {
	patterns := w.Bound()
	slices.Sort(patterns)
	return patterns
}

// tree is the state of the bound files at a commit, told once for all texts that are bound alike.
func (e *evaluator) tree(t *Snapshot, w Watched) string {
	patterns := patternsOf(w)
	key := treeKey{t.Commit, strings.Join(patterns, "\x00")}
	hash, ok := e.trees[key]
	if !ok {
		t.index()
		files := e.files(t, w)
		entries := make([]git.Entry, 0, len(files))
		for _, f := range files {
			entries = append(entries, t.byPath[f])
		}
		hash = TreeHash(entries, patterns)
		e.trees[key] = hash
	}
	return hash
}

// contains asks once whether a commit contains another.
func (e *evaluator) contains(ctx context.Context, ancestor, descendant string) (bool, error) {
	key := [2]string{ancestor, descendant}
	in, ok := e.within[key]
	if !ok {
		var err error
		if in, err = e.repo.Contains(ctx, ancestor, descendant); err != nil {
			return false, err
		}
		e.within[key] = in
	}
	return in, nil
}

// claim looks for one claim, and follows it when it was evidence.
func (e *evaluator) claim(ctx context.Context, w Watched, c WatchedClaim, files []string, then *Snapshot) (ClaimVerdict, error) {
	claim := Claim{Text: c.Text, Kind: c.Kind}
	v := ClaimVerdict{Claim: claim, State: NeverFound, Before: some(c.Where), Now: []string{}}
	within := files
	if within != nil {
		within = append(slices.Clone(files), c.Where...)
	}
	found, now, err := e.now.Find(ctx, claim, within)
	if err != nil {
		return v, err
	}
	if found {
		v.State, v.Now, v.Evidence = Holds, some(now), c.Evidence
		if !c.Evidence {
			v.Evidence, err = e.now.declared(ctx, claim, now, "")
		}
		return v, err
	}
	evidence, before, seen := c.Evidence, c.Where, ""
	if then != nil {
		seen = then.Commit
		held, where, err := then.Find(ctx, claim, e.files(then, w))
		if err != nil {
			return v, err
		}
		if held && !evidence {
			if held, err = then.declared(ctx, claim, where, ""); err != nil {
				return v, err
			}
		}
		if held {
			evidence = true
			if len(before) == 0 {
				before = where
			}
		}
	}
	if !evidence {
		return v, nil
	}
	return e.s.Follow(ctx, claim, seen, e.now.Commit, before, within)
}

// ground are the files that a text rested on when it was written: those its evidence was in, else its bound files.
func (e *evaluator) ground(ctx context.Context, w Watched, then *Snapshot) ([]string, error) {
	then.index()
	var out []string
	for _, c := range w.Claims {
		if !c.Evidence {
			continue
		}
		where := slices.DeleteFunc(slices.Clone(c.Where), func(f string) bool { _, there := then.byPath[f]; return !there })
		if len(where) == 0 { // it went elsewhere since
			claim, files := Claim{Text: c.Text, Kind: c.Kind}, e.files(then, w)
			for _, within := range [][]string{files, nil} {
				var err error
				if _, where, err = then.Find(ctx, claim, within); err != nil {
					return nil, err
				}
				if len(where) > 0 {
					break
				}
			}
		}
		out = append(out, where...)
	}
	if len(out) == 0 {
		out = e.files(then, w)
	}
	return out, nil
}

// files are the bound files at a commit; nil when nothing is bound, so that the whole repository counts.
func (e *evaluator) files(t *Snapshot, w Watched) []string {
	if len(w.Files) == 0 && len(w.Patterns) == 0 {
		return nil
	}
	out, cache := []string{}, e.bound[t.Commit]
	if cache == nil {
		if now := e.bound[e.now.Commit]; len(e.bound) >= maxTrees { // as many as there are trees
			clear(e.bound)
			e.bound[e.now.Commit] = now
		}
		cache = map[string][]string{}
		e.bound[t.Commit] = cache
	}
	for _, f := range w.Files {
		out = append(out, t.under(f)...)
	}
	for _, p := range w.Patterns {
		known, ok := cache[p]
		if !ok {
			known = t.matching(p)
			cache[p] = known
		}
		out = append(out, known...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matching are the files that a pattern matches. Most patterns are plain folders, which need no look at every file.
func (t *Snapshot) matching(pattern string) []string {
	plain := strings.Trim(pattern, "/")
	if anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/"); anchored && plain != "" && plain != "." && !strings.ContainsAny(plain, wild+`\`) {
		return t.under(plain)
	}
	var out []string
	for _, entry := range t.Entries {
		if c4model.Matches(pattern, entry.Path) {
			out = append(out, entry.Path)
		}
	}
	return out
}

// under are a file, or the files below a folder.
func (t *Snapshot) under(name string) []string {
	t.index()
	name = strings.TrimSuffix(name, "/")
	if _, ok := t.byPath[name]; ok {
		return []string{name}
	}
	var out []string
	below := name + "/"
	from, _ := slices.BinarySearchFunc(t.Entries, below, func(e git.Entry, p string) int { return cmp.Compare(e.Path, p) })
	for _, e := range t.Entries[from:] {
		if !strings.HasPrefix(e.Path, below) {
			break
		}
		out = append(out, e.Path)
	}
	return out
}

// known gives the full hash of a commit, "" when it is not here.
func (e *evaluator) known(ctx context.Context, commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	if id, ok := e.commits[commit]; ok {
		return id, nil
	}
	c, err := e.repo.Commit(ctx, commit)
	if err != nil && !problem.Is(err, problem.NotFound) && !problem.Is(err, problem.Invalid) && !problem.Is(err, problem.Ambiguous) {
		return "", err
	}
	e.commits[commit] = c.ID
	return c.ID, nil
}

// exactly makes patterns of names of files.
func exactly(files []string) []string {
	out := make([]string, 0, len(files))
	for _, f := range files {
		out = append(out, "/"+strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(f))
	}
	return out
}

// EmptyTree is the TreeHash of patterns that match nothing.
const EmptyTree = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing

// TreeHash tells states of bound files apart: a hash over the paths and texts of the entries that a pattern (of gitignore's
// kind, as in bindings) matches, in hexadecimal. The order of entries and patterns does not enter. It is "" without patterns;
// that nothing matches is a state as well.
func TreeHash(entries []git.Entry, patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	owners := c4model.NewOwnership(patterns)
	var lines []string
	for _, e := range entries {
		if len(owners.Covering(e.Path)) > 0 {
			lines = append(lines, e.Path+"\x00"+e.Blob+"\x00")
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}
