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
	Contains  []string       `json:"contains"`   // those of Breaking that Seen contains
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
	e := &evaluator{repo: s.repo, s: s, commits: map[string]string{}, bound: map[string][]string{}, then: map[string][]string{}, trees: map[treeKey]string{}, within: map[[2]string]bool{}}
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
		if e.seen != watched[n].Seen {
			e.seen, e.then = watched[n].Seen, map[string][]string{}
		}
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
	commits map[string]string   // full hashes of the commits that were asked for; "" for those that are not here
	bound   map[string][]string // files of now, by pattern
	seen    string              // the commit whose texts are looked at
	then    map[string][]string // files of that commit, by pattern
	trees   map[treeKey]string
	within  map[[2]string]bool // ancestor and descendant
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
	var then *Snapshot
	if v.SeenKnown = seen != ""; v.SeenKnown {
		if then, err = e.s.At(ctx, seen); err != nil {
			return v, err
		}
		v.AsSeen = v.AsSeen || v.Tree != "" && e.tree(then, w) == v.Tree
		if v.SeenIn, err = e.contains(ctx, seen, e.now.Commit); err != nil {
			return v, err
		}
		for _, b := range w.Breaking {
			id, err := e.known(ctx, b)
			if err != nil {
				return v, err
			}
			if id == "" {
				continue
			}
			in, err := e.contains(ctx, id, seen)
			if err != nil {
				return v, err
			}
			if in {
				v.Contains = append(v.Contains, b)
			}
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
		v.Rewrite, err = e.s.Rewritten(ctx, then.Commit, e.now.Commit, e.ground(w, then))
	}
	return v, err
}

// tree is the state of the bound files at a commit, told once for all texts that are bound alike.
func (e *evaluator) tree(t *Snapshot, w Watched) string {
	patterns := append(exactly(w.Files), w.Patterns...)
	slices.Sort(patterns)
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

// ground are the files that a text rests on: those its evidence was in, else its bound files.
func (e *evaluator) ground(w Watched, then *Snapshot) []string {
	var out []string
	for _, c := range w.Claims {
		if !c.Evidence {
			continue
		}
		if out = append(out, c.Where...); c.Kind == Path && len(c.Where) == 0 {
			out = append(out, then.paths(c.Text)...)
		}
	}
	if len(out) == 0 {
		out = e.files(then, w)
	}
	return out
}

// files are the bound files at a commit; nil when nothing is bound, so that the whole repository counts.
func (e *evaluator) files(t *Snapshot, w Watched) []string {
	if len(w.Files) == 0 && len(w.Patterns) == 0 {
		return nil
	}
	out, cache := []string{}, e.then
	if t == e.now {
		cache = e.bound
	}
	for _, f := range w.Files {
		out = append(out, t.under(f)...)
	}
	for _, p := range w.Patterns {
		known, ok := cache[p]
		if !ok {
			for _, entry := range t.Entries {
				if c4model.Matches(p, entry.Path) {
					known = append(known, entry.Path)
				}
			}
			cache[p] = known
		}
		out = append(out, known...)
	}
	slices.Sort(out)
	return slices.Compact(out)
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
