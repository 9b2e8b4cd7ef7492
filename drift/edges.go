package drift

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
)

// FactsCache keeps what files say by themselves, by the hash of their text and its language. It is safe for concurrent use.
type FactsCache interface {
	Facts(blob string, language imports.Language) (imports.Facts, bool)
	Keep(blob string, language imports.Language, facts imports.Facts)
}

// maxEvidence bounds the lines shown for one dependency.
const maxEvidence = 10

// pair is a dependency of one element on another, by index.
type pair struct{ from, to int }

// edge is what the code says about a pair.
type edge struct {
	places []Place // sorted
	count  int     // of import lines outside tests
	tests  int     // of import lines in tests
	sure   bool    // at least one import means files of the destination only
}

// edges are the dependencies that imports and manifests show between elements.
type edges struct {
	byPair   map[pair]*edge
	declared map[pair]bool       // by manifests, or by what imports pass on the way
	packages map[string][]string // declared by files, by path
	resolver *imports.Resolver
	open     map[int]ImportTotals // by owner: imports of its own files
	totals   ImportTotals
	skipped  []Skip
}

// commitTree is a commit as the resolvers of imports see it.
type commitTree struct {
	paths []string
	blobs *git.Blobs
	entry map[string]git.Entry
}

func (t *commitTree) Files() []string { return t.paths }

func (t *commitTree) Read(name string) ([]byte, error) {
	e, ok := t.entry[name]
	if !ok {
		return nil, fmt.Errorf("%s is not in the commit", name)
	}
	if e.Size > maxSource {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, e.Size, maxSource)
	}
	return t.blobs.Read(e.Blob, maxSource)
}

// readFacts extracts what the source files say, from the cache where it knows them.
func readFacts(ctx context.Context, repo *git.Repository, all []*file, cache FactsCache) (map[string]imports.Facts, []Skip, error) {
	facts := make(map[string]imports.Facts, len(all))
	var wanted []*file
	large := 0
	for _, f := range all {
		switch {
		case !imports.IsExtractable(f.language):
		case f.Size > maxSource:
			large++
		default:
			if known, ok := cache.Facts(f.Blob, f.language); ok {
				facts[f.Path] = known
			} else {
				wanted = append(wanted, f)
			}
		}
	}
	var skipped []Skip
	if large > 0 {
		skipped = append(skipped, Skip{Count: large, Reason: fmt.Sprintf("source files over %d MB, whose imports were not read", maxSource>>20)})
	}
	extracted := make([]imports.Facts, len(wanted))
	failures := make([]error, len(wanted))
	workers := min(max(runtime.GOMAXPROCS(0), 1), 4, max(len(wanted), 1))
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error {
			blobs, err := repo.Blobs(ctx)
			if err != nil {
				return err
			}
			defer blobs.Close()
			for i := w; i < len(wanted); i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				text, err := blobs.Read(wanted[i].Blob, maxSource)
				if err != nil {
					return fmt.Errorf("%s: %w", wanted[i].Path, err)
				}
				extracted[i], failures[i] = imports.Extract(wanted[i].Path, text)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, fmt.Errorf("reading source files: %w", err)
	}
	for i, f := range wanted {
		if failures[i] != nil {
			skipped = append(skipped, Skip{Path: f.Path, Reason: "its imports could not be read: it is no text"})
			continue // not kept either: the next run has to tell of it too
		}
		facts[f.Path] = extracted[i]
		cache.Keep(f.Blob, f.language, extracted[i])
	}
	return facts, skipped, nil
}

// resolver makes the resolver of imports of a commit. It reads manifests by blobs, which must stay open meanwhile.
func resolver(ctx context.Context, blobs *git.Blobs, all []*file, facts map[string]imports.Facts) (*imports.Resolver, error) {
	t := &commitTree{blobs: blobs, entry: make(map[string]git.Entry, len(all))}
	for _, f := range all {
		t.paths = append(t.paths, f.Path)
		t.entry[f.Path] = f.Entry
	}
	r, err := imports.NewResolver(ctx, t, facts)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return r, nil
}

// readEdges finds which elements import which.
func readEdges(ctx context.Context, repo *git.Repository, in *Input, el *elements, fs *files, cache FactsCache) (*edges, error) {
	facts, skipped, err := readFacts(ctx, repo, fs.all, cache)
	if err != nil {
		return nil, err
	}
	blobs, err := repo.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer blobs.Close()
	r, err := resolver(ctx, blobs, fs.all, facts)
	if err != nil {
		return nil, err
	}
	out := &edges{
		byPair: map[pair]*edge{}, declared: map[pair]bool{}, packages: map[string][]string{}, open: map[int]ImportTotals{}, resolver: r, skipped: skipped,
	}
	for _, u := range r.Unread() {
		out.skipped = append(out.skipped, Skip{Path: u.Path, Reason: u.Reason})
	}
	for _, f := range fs.all {
		if !f.source() {
			continue
		}
		out.packages[f.Path] = facts[f.Path].Packages
		for _, i := range facts[f.Path].Imports {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			resolution := r.Resolve(f.Path, i)
			switch resolution.Verdict {
			case imports.External:
				out.totals.External++
			case imports.Unresolved:
				out.totals.Unresolved++
				out.note(f, func(t *ImportTotals) { t.Unresolved++ })
			case imports.Internal:
				out.totals.Internal++
				out.note(f, func(t *ImportTotals) { t.Internal++ })
				out.add(el, f, i, fs.owners(resolution.Files))
				out.pass(el, f, fs.owners(resolution.Also))
			}
		}
	}
	for _, e := range out.byPair {
		slices.SortFunc(e.places, func(a, b Place) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	}
	out.declare(in, el, r.Dependencies())
	return out, nil
}

// owners are the distinct elements that own any of the files.
func (fs *files) owners(paths []string) []int {
	var out []int
	for _, p := range paths {
		if f, ok := fs.byPath[p]; ok {
			for _, o := range f.owners {
				if !slices.Contains(out, o) {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// add records that a file imports files of the targets.
func (es *edges) add(el *elements, f *file, i imports.Import, targets []int) {
	from := f.owner()
	if from < 0 {
		return
	}
	targets = slices.DeleteFunc(el.deepest(targets), func(to int) bool { return el.inside(from, to) || el.inside(to, from) })
	for _, to := range targets {
		e := es.byPair[pair{from, to}]
		if e == nil {
			e = &edge{}
			es.byPair[pair{from, to}] = e
		}
		if f.test {
			e.tests++
			continue
		}
		e.count++
		e.sure = e.sure || len(targets) == 1
		if p := (Place{File: f.Path, Line: i.Line, Text: importText(f.language, i)}); !slices.Contains(e.places, p) {
			e.places = append(e.places, p)
		}
	}
}

// importText is an import as a person reads it. In Python the name tells apart what several lines take from one module.
func importText(language imports.Language, i imports.Import) string {
	if language != imports.Python || i.Name == "" {
		return i.Spec
	}
	return strings.TrimSuffix(i.Spec, ".") + "." + i.Name
}

// pass records the elements whose files an import passes on the way, or may mean: evidence that a documented dependency is
// there, and none that one is missing from the model.
func (es *edges) pass(el *elements, f *file, others []int) {
	from := f.owner()
	if from < 0 || f.test {
		return
	}
	for _, to := range others {
		if !el.inside(from, to) && !el.inside(to, from) {
			es.declared[pair{from, to}] = true
		}
	}
}

// declare records what manifests say: evidence that a documented dependency is there, but none that one is missing from
// the model, since what is declared need not be used.
func (es *edges) declare(in *Input, el *elements, dependencies []imports.ManifestDependency) {
	patterns := make([]string, len(in.Bindings))
	for i, b := range in.Bindings {
		patterns[i] = b.Pattern
	}
	ownership := c4model.NewOwnership(patterns)
	owners := func(folder string) []int {
		var out []int
		for _, i := range ownership.Owners(path.Join(folder, "manifest")) {
			if at, ok := el.byKey[c4model.FoldKey(in.Bindings[i].Element)]; ok {
				out = append(out, at)
			}
		}
		return el.deepest(out)
	}
	for _, d := range dependencies {
		for _, from := range owners(d.From) {
			for _, to := range owners(d.To) {
				es.declared[pair{from, to}] = true
			}
		}
	}
}

// note counts an import for the element that owns the file; those of tests show nothing either way.
func (es *edges) note(f *file, count func(*ImportTotals)) {
	if o := f.owner(); o >= 0 && !f.test {
		t := es.open[o]
		count(&t)
		es.open[o] = t
	}
}

// unresolved counts the imports of an element, and of what lies in it, that could lead to other files of the repository, and
// those of them of which nobody knows where they lead.
func (es *edges) unresolved(el *elements, a int) (unknown, all int) {
	for o, t := range es.open {
		if el.inside(o, a) {
			unknown, all = unknown+t.Unresolved, all+t.Unresolved+t.Internal
		}
	}
	return unknown, all
}

// shown tells whether the code shows a dependency of anything in a on anything in b.
func (es *edges) shown(el *elements, a, b int) bool {
	for p, e := range es.byPair {
		if e.count > 0 && el.inside(p.from, a) && el.inside(p.to, b) {
			return true
		}
	}
	for p := range es.declared {
		if el.inside(p.from, a) && el.inside(p.to, b) {
			return true
		}
	}
	return false
}

// imported tells whether anything outside an element imports it.
func (es *edges) imported(el *elements, b int) bool {
	for p := range es.byPair {
		if el.inside(p.to, b) && !el.inside(p.from, b) {
			return true
		}
	}
	for p := range es.declared {
		if el.inside(p.to, b) && !el.inside(p.from, b) {
			return true
		}
	}
	return false
}

// noCache is used where none is given.
type noCache struct{}

func (noCache) Facts(string, imports.Language) (imports.Facts, bool) { return imports.Facts{}, false }
func (noCache) Keep(string, imports.Language, imports.Facts)         {}
