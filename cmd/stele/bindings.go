package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/drift/bind"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// bindings are a project's model, its tracked files and what binds the two, as the working tree has them.
type bindings struct {
	place     *place
	model     *c4model.Model
	modelFile string            // relative to the root of the repository
	files     []string          // tracked files of the project, likewise, sorted
	bound     []c4model.Binding // patterns likewise
}

// openBindings reads them. No database and no server is asked.
func openBindings(ctx context.Context, dir, model string) (*bindings, error) {
	p, err := findPlace(ctx, dir)
	if err != nil {
		return nil, err
	}
	if p.unclear != nil {
		return nil, p.unclear
	}
	if p.checkout == nil {
		return nil, problem.Invalidf("", "this folder is in no git repository").Fix("run git init first; only tracked files are bound")
	}
	return p.openBindings(ctx, model)
}

func (p *place) openBindings(ctx context.Context, model string) (*bindings, error) {
	name := model
	switch {
	case model == "" && p.file.Model != "":
		name = filepath.Join(p.home(), filepath.FromSlash(p.file.Model))
	case model == "":
		name = p.home()
	case !filepath.IsAbs(model):
		name = filepath.Join(p.dir, model)
	}
	source, err := formats.Find(ctx, name)
	if err != nil {
		if problem.Is(err, problem.NotFound) && model == "" {
			err = noModel(p, err)
		}
		return nil, err
	}
	w := &bindings{place: p, modelFile: source.File}
	if w.model, err = formats.Read(ctx, filepath.Join(source.Root, filepath.FromSlash(source.File))); err != nil {
		return nil, err
	}
	if w.bound, err = p.bindings(source.Root, w.model); err != nil {
		return nil, err
	}
	repository, err := git.Open(ctx, p.checkout.Root)
	if err != nil {
		return nil, err
	}
	tracked, err := repository.Tracked(ctx)
	if err != nil {
		return nil, err
	}
	w.files = ofProject(tracked, p.folder)
	return w, nil
}

// noModel says that there is nothing to bind.
func noModel(p *place, err error) error {
	return problem.New(problem.NotFound, "model", "there is no model in "+memory.Line(filepath.Base(p.home())),
		"name it: --model PATH", "have one proposed: stele model draft").Because(err)
}

// ofProject keeps the regular files below a folder that are below no other stele.yaml.
func ofProject(entries []git.Entry, folder string) []string {
	inside := func(name, folder string) bool { return folder == "" || strings.HasPrefix(name, folder+"/") }
	var nested []string
	for _, e := range entries {
		if at, ok := strings.CutSuffix(e.Path, "/"+config.RepositoryFile); ok && at != folder && inside(at, folder) {
			nested = append(nested, at)
		}
	}
	var out []string
	for _, e := range entries {
		if (e.Mode == git.Regular || e.Mode == git.Executable) && inside(e.Path, folder) &&
			!slices.ContainsFunc(nested, func(n string) bool { return inside(e.Path, n) }) {
			out = append(out, e.Path)
		}
	}
	return out
}

// element finds an element by key, by the end of its key, or by a name, when that is unique.
func (w *bindings) element(ref string) (c4model.Element, error) {
	for _, matches := range []func(c4model.Element) bool{
		func(e c4model.Element) bool { return c4model.FoldKey(e.Key) == c4model.FoldKey(ref) },
		func(e c4model.Element) bool {
			return strings.HasSuffix(c4model.FoldKey(e.Key), "."+c4model.FoldKey(ref)) || c4model.FoldName(e.Name) == c4model.FoldName(ref)
		},
	} {
		var found []c4model.Element
		for _, e := range w.model.Elements {
			if matches(e) {
				found = append(found, e)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			p := problem.New(problem.Ambiguous, "element", memory.Line(ref)+" may be several elements")
			for _, e := range found[:min(len(found), maxOffered)] {
				_ = p.Fix("say %s", quoteName(e.Key))
			}
			return c4model.Element{}, p
		}
	}
	return c4model.Element{}, problem.New(problem.NotFound, "element", memory.Line(ref)+" is no element of the model",
		"stele bind list shows what is bound, stele bind suggest what is not")
}

// suggest proposes bindings of at least some confidence, for all elements or for those named.
func (w *bindings) suggest(ctx context.Context, elements []string, least float64) (suggested, error) {
	out := suggested{Model: w.modelFile, File: w.place.settings(), Suggestions: []bind.Suggestion{}, Unbound: []string{}}
	wanted := map[string]bool{}
	for _, ref := range elements {
		e, err := w.element(ref)
		if err != nil {
			return out, err
		}
		wanted[e.Key] = true
	}
	all, err := bind.Suggest(ctx, bind.Input{
		Model: w.model, Bindings: w.bound, None: w.none(), Root: w.place.folder, Files: w.files, Name: w.place.name(), Read: w.read(),
	})
	if err != nil {
		return out, err
	}
	proposed := map[string]bool{}
	for _, g := range all {
		if g.Confidence >= least && (len(wanted) == 0 || wanted[g.Element]) {
			out.Suggestions = append(out.Suggestions, g)
			for key := g.Element; key != ""; key = w.parent(key) { // what holds it stands for its files, too
				proposed[key] = true
			}
		}
	}
	for _, key := range w.unbound() {
		if !proposed[key] && (len(wanted) == 0 || wanted[key]) {
			out.Unbound = append(out.Unbound, key)
		}
	}
	return out, nil
}

// read reads files of the working tree, and nothing that a link leads to elsewhere.
func (w *bindings) read() func(name string, limit int64) ([]byte, error) {
	return func(name string, limit int64) (_ []byte, err error) {
		root, err := os.OpenRoot(w.place.checkout.Root)
		if err != nil {
			return nil, err
		}
		defer func() { _ = root.Close() }()
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || info.Size() > limit {
			return nil, os.ErrInvalid
		}
		return root.ReadFile(filepath.FromSlash(name))
	}
}

// none are the elements without code, by their key in the model.
func (w *bindings) none() map[string]string {
	out := map[string]string{}
	for key, reason := range w.place.file.None {
		for _, e := range w.model.Elements {
			if c4model.FoldKey(e.Key) == c4model.FoldKey(key) {
				out[e.Key] = reason
			}
		}
	}
	return out
}

// unbound are the elements in scope that stand for no files, nor does anything inside them, and that nobody said to have none.
func (w *bindings) unbound() []string {
	covered := map[string]bool{}
	cover := func(key string) {
		for ; key != ""; key = w.parent(key) {
			covered[key] = true
		}
	}
	for _, b := range w.bound {
		cover(b.Element)
	}
	for key := range w.none() {
		covered[key] = true
	}
	out := []string{}
	for _, e := range w.model.Elements {
		if e.InScope() && !covered[e.Key] {
			out = append(out, e.Key)
		}
	}
	return out
}

func (w *bindings) parent(key string) string {
	for _, e := range w.model.Elements {
		if e.Key == key {
			return e.Parent
		}
	}
	return ""
}

// covered counts the tracked files that a pattern covers.
func (w *bindings) covered(pattern string) int {
	n := 0
	for _, name := range w.files {
		if c4model.Matches(pattern, name) {
			n++
		}
	}
	return n
}

// listed is what is bound, and where that is not clear.
type listed struct {
	Bindings []listedBinding `json:"bindings"`
	Ties     []tie           `json:"ties"`    // files that belong to several elements alike
	None     []noCode        `json:"none"`    // elements without code
	Unbound  []string        `json:"unbound"` // keys of elements that stand for nothing yet
	Warnings []string        `json:"warnings"`
}

type listedBinding struct {
	Element string `json:"element"`
	Pattern string `json:"pattern"` // relative to the root of the repository
	Source  string `json:"source"`
	Files   int    `json:"files"` // tracked files that it covers
	Owned   int    `json:"owned"` // of them, those that no more specific pattern takes
}

type tie struct {
	Elements []string `json:"elements"`
	Files    int      `json:"files"`
	Sample   string   `json:"sample"`
}

type noCode struct {
	Element string `json:"element"`
	Reason  string `json:"reason"`
}

func (w *bindings) list() listed {
	out := listed{Bindings: []listedBinding{}, Ties: []tie{}, None: []noCode{}, Unbound: w.unbound(), Warnings: []string{}}
	patterns := make([]string, len(w.bound))
	for i, b := range w.bound {
		patterns[i] = b.Pattern
		out.Bindings = append(out.Bindings, listedBinding{Element: b.Element, Pattern: b.Pattern, Source: b.Source})
	}
	ownership := c4model.NewOwnership(patterns)
	ties := map[string]int{}
	for _, name := range w.files {
		for _, i := range ownership.Covering(name) {
			out.Bindings[i].Files++
		}
		var owners []string
		for _, i := range ownership.Owners(name) {
			out.Bindings[i].Owned++
			if key := w.bound[i].Element; !slices.Contains(owners, key) {
				owners = append(owners, key)
			}
		}
		if owners = w.innermost(owners); len(owners) < 2 {
			continue
		}
		slices.Sort(owners)
		id := strings.Join(owners, "\x00")
		at, ok := ties[id]
		if !ok {
			at = len(out.Ties)
			ties[id] = at
			out.Ties = append(out.Ties, tie{Elements: owners, Sample: name})
		}
		out.Ties[at].Files++
	}
	none := w.none()
	for _, key := range slices.Sorted(maps.Keys(none)) {
		out.None = append(out.None, noCode{key, none[key]})
	}
	for _, b := range out.Bindings {
		if b.Files == 0 {
			out.Warnings = append(out.Warnings, "no tracked file matches "+b.Pattern+" of "+b.Element)
		}
	}
	for _, warning := range w.model.Warnings {
		out.Warnings = append(out.Warnings, warning.String())
	}
	return out
}

// innermost leaves out elements that hold another of them: what both own is the inner one's.
func (w *bindings) innermost(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return slices.ContainsFunc(keys, func(other string) bool {
			for at := w.parent(other); at != ""; at = w.parent(at) {
				if at == key {
					return true
				}
			}
			return false
		})
	})
}
