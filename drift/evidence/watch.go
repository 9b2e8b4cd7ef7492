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
	e := &evaluator{s: s, commits: map[string]string{}, bound: map[string]map[string][]git.Entry{}, trees: map[treeKey]string{},
		parents: map[string]string{}, changed: map[changeKey]bool{}}
	var err error
	if e.now, err = s.At(ctx, head); err != nil {
		return nil, err
	}
	s.pin(e.now)
	if err := e.relate(ctx, head, watched); err != nil {
		return nil, err
	}
	order := make([]int, len(watched)) // neighbours in history one after the other, since they share most of their folders
	place := make([]int, len(watched))
	for n, w := range watched {
		order[n], place[n] = n, s.lineage.graph.Place(e.commits[w.Seen])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
	out := make([]Verdict, len(watched))
	for _, n := range order {
		if out[n], err = e.evaluate(ctx, watched[n], rewritten); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// relate announces all commits that watched texts speak of.
func (e *evaluator) relate(ctx context.Context, head string, watched []Watched) error {
	commits := []string{head}
	for _, w := range watched {
		seen, err := e.known(w.Seen)
		if err != nil {
			return err
		}
		commits = append(commits, seen)
		for _, b := range w.Breaking {
			id, err := e.known(b)
			if err != nil {
				return err
			}
			if commits = append(commits, id); id == "" {
				continue
			}
			parent, err := e.parent(id)
			if err != nil {
				return err
			}
			commits = append(commits, parent)
		}
	}
	slices.Sort(commits)
	commits = slices.Compact(commits)
	return e.s.relate(ctx, slices.DeleteFunc(commits, func(c string) bool { return c == "" })...)
}

// evaluator is one run of Evaluate.
type evaluator struct {
	s       *Searcher
	now     *Snapshot
	commits map[string]string                 // full hashes of the commits that were asked for; "" for those that are not here
	bound   map[string]map[string][]git.Entry // bound files, by commit and what they are bound by
	trees   map[treeKey]string
	parents map[string]string
	changed map[changeKey]bool // answers of changedAlike
}

// treeKey names the files of some patterns at a commit.
type treeKey struct{ commit, patterns string }

func (e *evaluator) evaluate(ctx context.Context, w Watched, rewritten bool) (Verdict, error) {
	v := Verdict{ID: w.ID, Commit: e.now.Commit, Contains: []string{}, Claims: []ClaimVerdict{}}
	files, err := e.files(e.now, w)
	if err != nil {
		return v, err
	}
	if v.Tree, err = e.tree(e.now, w); err != nil {
		return v, err
	}
	v.AsSeen = w.SeenTree != "" && w.SeenTree == v.Tree
	seen, err := e.known(w.Seen)
	if err != nil {
		return v, err
	}
	var then *Snapshot // of the commit that the writer had, if it is here
	if v.SeenKnown = seen != ""; v.SeenKnown {
		if then, err = e.s.At(ctx, seen); err != nil {
			return v, err
		}
		had, err := e.tree(then, w)
		if err != nil {
			return v, err
		}
		v.AsSeen = v.AsSeen || v.Tree != "" && had == v.Tree
		if v.SeenIn, err = e.s.contains(ctx, seen, e.now.Commit); err != nil {
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
	id, err := e.known(breaking)
	if err != nil || id == "" {
		return false, err
	}
	if then != nil {
		if in, err := e.s.contains(ctx, id, then.Commit); err != nil || in {
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
	left, err := e.tree(after, w)
	if err != nil || left == w.SeenTree || then == nil {
		return err == nil && left == w.SeenTree, err
	}
	if had, err := e.tree(then, w); err != nil || left == had {
		return err == nil, err
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
	parent, err := e.parent(after.Commit)
	if err != nil || parent == "" { // also where a shallow history was cut
		return false, err
	}
	before, err := e.s.At(ctx, parent)
	if err != nil {
		return false, err
	}
	fork, err := e.s.fork(ctx, then.Commit, parent)
	if err != nil || fork == "" || fork == then.Commit {
		return false, err
	}
	base, err := e.s.At(ctx, fork)
	if err != nil {
		return false, err
	}
	var sets [4]map[string]bool
	for n, t := range []*Snapshot{before, after, base, then} {
		if sets[n], err = e.paths(t, w); err != nil {
			return false, err
		}
	}
	was, is, forked, seen := sets[0], sets[1], sets[2], sets[3]
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

// parent is the first parent of a commit, if it is here.
func (e *evaluator) parent(commit string) (string, error) {
	parent, ok := e.parents[commit]
	if !ok {
		var err error
		if parent, err = e.s.forest.lookup.Parent(commit); err != nil {
			return "", err
		}
		e.parents[commit] = parent
	}
	return parent, nil
}

// paths are the bound files at a commit, to ask for.
func (e *evaluator) paths(t *Snapshot, w Watched) (map[string]bool, error) {
	files, err := e.files(t, w)
	out := make(map[string]bool, len(files))
	for _, f := range files {
		out[f.Path] = true
	}
	return out, err
}

// patternsOf are the patterns of everything a text is about, in order.
func patternsOf(w Watched) []string {
	patterns := w.Bound()
	slices.Sort(patterns)
	return patterns
}

// tree is the state of the bound files at a commit, told once for all texts that are bound alike.
func (e *evaluator) tree(t *Snapshot, w Watched) (string, error) {
	patterns := patternsOf(w)
	key := treeKey{t.Commit, strings.Join(patterns, "\x00")}
	hash, ok := e.trees[key]
	if !ok {
		files, err := e.files(t, w)
		if err != nil {
			return "", err
		}
		hash = TreeHash(files, patterns)
		e.trees[key] = hash
	}
	return hash, nil
}

// claim looks for one claim, and follows it when it was evidence.
func (e *evaluator) claim(ctx context.Context, w Watched, c WatchedClaim, files []git.Entry, then *Snapshot) (ClaimVerdict, error) {
	claim := Claim{Text: c.Text, Kind: c.Kind}
	v := ClaimVerdict{Claim: claim, State: NeverFound, Before: some(c.Where), Now: []string{}}
	within := files
	if within != nil {
		within = slices.Clip(files) // others have the same list
		for _, p := range c.Where {
			f, ok, err := e.now.file(p)
			if err != nil {
				return v, err
			}
			if ok {
				within = append(within, f)
			}
		}
	}
	found, now, err := e.now.find(ctx, claim, within)
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
		bound, err := e.files(then, w)
		if err != nil {
			return v, err
		}
		held, where, err := then.find(ctx, claim, bound)
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
	return e.s.follow(ctx, claim, seen, e.now.Commit, before, within)
}

// ground are the files that a text rested on when it was written: those its evidence was in, else its bound files.
func (e *evaluator) ground(ctx context.Context, w Watched, then *Snapshot) ([]string, error) {
	bound, err := e.files(then, w)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range w.Claims {
		if !c.Evidence {
			continue
		}
		var where []string
		for _, f := range c.Where {
			_, ok, err := then.file(f)
			if err != nil {
				return nil, err
			}
			if ok {
				where = append(where, f)
			}
		}
		if len(where) == 0 { // it went elsewhere since
			claim := Claim{Text: c.Text, Kind: c.Kind}
			for _, within := range [][]git.Entry{bound, nil} {
				if _, where, err = then.find(ctx, claim, within); err != nil {
					return nil, err
				}
				if len(where) > 0 {
					break
				}
			}
		}
		out = append(out, where...)
	}
	if len(out) > 0 {
		return out, nil
	}
	for _, f := range bound {
		out = append(out, f.Path)
	}
	return out, nil
}

// files are the bound files at a commit, sorted; nil when nothing is bound, so that the whole repository counts.
func (e *evaluator) files(t *Snapshot, w Watched) ([]git.Entry, error) {
	if len(w.Files) == 0 && len(w.Patterns) == 0 {
		return nil, nil
	}
	cache := e.bound[t.Commit]
	if cache == nil {
		const most = 64 // commits; texts of one come one after the other
		if now := e.bound[e.now.Commit]; len(e.bound) >= most {
			clear(e.bound)
			e.bound[e.now.Commit] = now
		}
		cache = map[string][]git.Entry{}
		e.bound[t.Commit] = cache
	}
	key := strings.Join(w.Files, "\x00") + "\x00\x00" + strings.Join(w.Patterns, "\x00")
	if known, ok := cache[key]; ok {
		return known, nil
	}
	out := []git.Entry{}
	for _, f := range w.Files {
		files, err := t.under(f)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	for _, p := range w.Patterns {
		files, err := t.matching(p)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	byPath := func(a, b git.Entry) int { return cmp.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(out, byPath) {
		slices.SortFunc(out, byPath)
	}
	out = slices.Compact(out)
	cache[key] = out
	return out, nil
}

// known gives the full hash of a commit, "" when it is not here.
func (e *evaluator) known(commit string) (string, error) {
	if commit == "" {
		return "", nil
	}
	id, ok := e.commits[commit]
	if !ok {
		var err error
		if id, err = e.s.forest.lookup.Commit(commit); err != nil {
			return "", err
		}
		e.commits[commit] = id
	}
	return id, nil
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
