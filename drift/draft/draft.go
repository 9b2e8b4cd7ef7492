// Package draft proposes a C4 model for a repository that has none, from its manifests, packages, imports and their own
// documentation. The same commit gives the same proposal, byte for byte; no language model takes part. What it proposes is
// compared with the commit before it is given out, so that its first score is known.
package draft

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"unicode"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// Options say what is drafted.
type Options struct {
	Repository *git.Repository
	Root       string           // folder of the project inside the repository, "" at the top
	Ref        string           // commit; "" is HEAD
	Name       string           // of the system, where nothing in the repository says one
	Cache      drift.FactsCache // nil: what source files import is read anew
}

// Draft is a proposed model.
type Draft struct {
	Commit string `json:"commit"` // that it was made of
	System string `json:"system"` // name
	DSL    string `json:"dsl"`    // the model as Structurizr DSL
	// Containers are those of the system in the order of the model, with their components.
	Containers    []Container `json:"containers"`
	Relationships int         `json:"relationships"`
	// Ignore are globs for the section ignore of stele.yaml: folders of source code that no element owns. Mostly none.
	Ignore []string `json:"ignore"`
	// Report compares the proposal, with Ignore, with the commit.
	Report *drift.Report `json:"report"`
}

// Container is one proposed container.
type Container struct {
	Key        string   `json:"key"`
	Name       string   `json:"name"`
	Technology string   `json:"technology,omitempty"`
	Paths      []string `json:"paths,omitempty"`
	External   bool     `json:"external,omitempty"`
	Components []string `json:"components,omitempty"` // names
}

// Propose drafts a model of a commit. A project without source code is a *problem.Error of code NotFound; other errors are
// those of reading the repository and its stele.yaml.
func Propose(ctx context.Context, o Options) (*Draft, error) {
	commit, err := o.Repository.Commit(ctx, o.Ref)
	if err != nil {
		return nil, err
	}
	tree, err := o.Repository.Tree(ctx, commit.ID)
	if err != nil {
		return nil, err
	}
	if o.Cache == nil {
		o.Cache = &memory{}
	}
	d := &drafter{options: o, commit: commit, tree: tree}
	in, err := d.input(ctx, &c4model.Model{})
	if err != nil {
		return nil, err
	}
	p, err := readProject(ctx, o.Repository, in)
	if err != nil {
		return nil, err
	}
	defer p.blobs.Close()
	s := p.system(o.Name)
	if len(s.children) == 0 {
		return nil, problem.New(problem.NotFound, "repo", "there is no source code of a known language at "+short(commit.ID)+" to draft a model of",
			"name the folder of the project with --repo, or write the model by hand")
	}
	if err := d.relate(ctx, s); err != nil {
		return nil, err
	}
	return d.settle(ctx, s)
}

func short(id string) string {
	const digits = 10
	return id[:min(len(id), digits)]
}

// drafter holds a proposal against its commit.
type drafter struct {
	options Options
	commit  git.Commit
	tree    []git.Entry
	ignore  []string
}

func (d *drafter) input(ctx context.Context, m *c4model.Model) (*drift.Input, error) {
	in, err := drift.Source{Repository: d.options.Repository, Root: d.options.Root, Model: m}.LoadTree(ctx, d.commit, d.tree)
	if err != nil {
		return nil, err
	}
	in.Ignore = append(in.Ignore, d.ignore...)
	return in, nil
}

// compare reads a proposal as everybody will and compares it with the commit.
func (d *drafter) compare(ctx context.Context, s *system) (*drift.Report, error) {
	const name = "workspace.dsl"
	files := fstest.MapFS{name: &fstest.MapFile{Data: []byte(s.dsl()), Mode: fs.ModePerm}}
	m, err := structurizr.ReadDSL(ctx, c4model.NewRoot(files), name)
	if err != nil {
		return nil, fmt.Errorf("reading the proposed model: %w", err)
	}
	in, err := d.input(ctx, m)
	if err != nil {
		return nil, err
	}
	return drift.Run(ctx, d.options.Repository, in, drift.Options{Cache: d.options.Cache, History: -1})
}

// relate adds the relationships that the comparison misses: imports between elements of one parent. What lies in them needs no
// line of its own.
func (d *drafter) relate(ctx context.Context, s *system) error {
	r, err := d.compare(ctx, s)
	if err != nil {
		return err
	}
	for _, f := range r.Findings {
		if f.Check == drift.UndocumentedDependency {
			s.relationships = append(s.relationships, relationship{from: f.Element, to: f.Subject, about: "Uses"})
		}
	}
	return nil
}

// settle compares the whole proposal, and leaves to stele.yaml what it does not explain.
func (d *drafter) settle(ctx context.Context, s *system) (*Draft, error) {
	r, err := d.compare(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, f := range r.Findings {
		if f.Check == drift.UndocumentedCode {
			d.ignore = append(d.ignore, pattern(f.Subject)+"/**")
		}
	}
	if len(d.ignore) > 0 {
		if r, err = d.compare(ctx, s); err != nil {
			return nil, err
		}
	}
	out := &Draft{Commit: d.commit.ID, System: s.name, DSL: s.dsl(), Relationships: len(s.relationships), Ignore: []string{}, Report: r}
	for _, glob := range d.ignore {
		out.Ignore = append(out.Ignore, strings.TrimPrefix(strings.TrimPrefix(glob, d.options.Root), "/"))
	}
	for _, e := range s.children {
		c := Container{Key: s.id + "." + e.id, Name: e.name, Technology: e.technology, Paths: e.paths, External: slices.Contains(e.tags, external)}
		for _, component := range e.children {
			c.Components = append(c.Components, component.name)
		}
		out.Containers = append(out.Containers, c)
	}
	return out, nil
}

// memory keeps the facts about files between the comparisons of one draft.
type memory struct{ facts sync.Map }

type fact struct {
	blob     string
	language imports.Language
}

func (m *memory) Facts(blob string, language imports.Language) (imports.Facts, bool) {
	known, ok := m.facts.Load(fact{blob, language})
	if !ok {
		return imports.Facts{}, false
	}
	facts, ok := known.(imports.Facts)
	return facts, ok
}

func (m *memory) Keep(blob string, language imports.Language, facts imports.Facts) {
	m.facts.Store(fact{blob, language}, facts)
}

// system puts the proposal together.
func (p *project) system(fallback string) *system {
	services := p.services()
	units := p.units(services)
	ownImages(services, units)
	for _, u := range units {
		p.describe(u)
	}
	root := p.rootSaid()
	title, about := p.readme(p.root)
	s := newSystem(systemName(text(title), text(root.name), text(fallback)), cmp.Or(root.about, about))
	units = p.group(units)
	var made []*element
	for _, u := range units {
		if u.folder == p.root && (u.name == "" || generic[strings.ToLower(u.name)] || u.name != withoutEnding(u.name) || letters(u.name) == letters(s.name)) {
			u.name = s.name
		}
		p.divide(u, len(units) <= fewContainers || u.runs && len(units) <= fewPrograms)
		e := &element{name: u.name, about: u.about, technology: p.technology(u.languages(), u.uses), paths: p.places(u, units), group: p.groupOf(u, units)}
		for _, c := range u.components {
			e.children = append(e.children, &element{name: c.name, about: c.about, technology: p.technology(c.sizes, nil), paths: c.paths})
		}
		s.add(e)
		made = append(made, e)
	}
	p.addServices(s, services, units, made)
	s.finish()
	return s
}

// technology names languages and frameworks, unless that is the path of a file: a binding would be read from it.
func (p *project) technology(sizes map[imports.Language]int64, uses []string) string {
	text := technology(sizes, uses)
	if p.byPath[text].Path != "" || p.holdsCode(text) {
		return ""
	}
	return text
}

// generic are names that roots of monorepos go by.
var generic = map[string]bool{"root": true, "monorepo": true, "workspace": true, "parent": true, "main": true, "src": true}

// describe reads what the manifests and the package documentation of a unit say.
func (p *project) describe(u *unit) {
	main := languages(u.files)
	slices.SortStableFunc(u.manifests, func(a, b string) int { return rank(a, main) - rank(b, main) })
	for _, file := range u.manifests {
		m, _ := manifestOf(file)
		if rank(file, main) == len(main) && len(main) > 0 {
			continue // it builds nothing here
		}
		s := m.read(p.read(file))
		u.name, u.about = cmp.Or(u.name, s.name), cmp.Or(u.about, sentence(s.about))
		u.runs = u.runs || s.runs
		if u.uses == nil {
			u.uses = s.uses
		}
	}
	if u.folder != p.root {
		u.name = cmp.Or(u.name, p.folderName(u.folder))
	}
	if u.about == "" && len(main) > 0 {
		u.about = p.folderDoc(u.folder, main[0])
	}
	if u.about == "" && u.folder != p.root {
		_, u.about = p.readme(u.folder)
	}
}

// folderName is what a folder without a declared name goes by: connect/api, since many are called api, but order-service where it
// lies in a folder such as services, or repeats the name of the one around it.
func (p *project) folderName(folder string) string {
	base, above := path.Base(folder), path.Base(parent(folder))
	if parent(folder) == p.root || parent(folder) == "" || passedThrough[strings.ToLower(above)] || strings.HasPrefix(strings.ToLower(base), strings.ToLower(above)) {
		return base
	}
	return above + "/" + base
}

// rank gives the place of the first language that a manifest builds, among those of its unit.
func rank(file string, main []imports.Language) int {
	m, _ := manifestOf(file)
	if at := slices.IndexFunc(main, func(l imports.Language) bool { return slices.Contains(m.languages, l) }); at >= 0 {
		return at
	}
	return len(main)
}

// rootSaid is what the manifests at the root say of the whole, even of those that build nothing themselves.
func (p *project) rootSaid() said {
	var out said
	for _, name := range []string{"go.mod", "Cargo.toml", "pyproject.toml", "setup.cfg", "setup.py", "pom.xml", "composer.json", "mix.exs", "package.json"} {
		if file := p.first(p.root, name); file != "" && (out.name == "" || out.about == "") {
			s := manifests[name].read(p.read(file))
			if !generic[strings.ToLower(s.name)] {
				out.name = cmp.Or(out.name, s.name)
			}
			out.about = cmp.Or(out.about, sentence(s.about))
		}
	}
	return out
}

// systemName chooses the title of the readme when it is a name, which it is when it looks like the name that manifests or the
// repository have, or is short.
func systemName(title, declared, fallback string) string {
	const longest, few = 40, 3
	declared = withoutEnding(declared)
	if at := strings.Index(title, " ("); at > 0 { // Shop (beta)
		title = title[:at]
	}
	if letters(declared) == letters(fallback) {
		declared = fallback // one name; manifests often allow no capitals
	}
	for _, name := range []string{declared, fallback} {
		if t, n := letters(title), letters(name); t != "" && n != "" && len(title) <= longest && (strings.Contains(t, n) || strings.Contains(n, t)) {
			return title
		}
	}
	if declared == "" && title != "" && len(strings.Fields(title)) <= few {
		return title
	}
	return cmp.Or(declared, fallback, "System")
}

// withoutEnding takes off a name what says that it is the root of a monorepo.
func withoutEnding(name string) string {
	for _, ending := range []string{"-monorepo", "-root", "-repo", "-parent", "-workspace"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// groupOf gives the top folder of a unit when others lie in it, too, and not all do.
func (p *project) groupOf(u *unit, all []*unit) string {
	top := func(folder string) string {
		first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(folder, p.root), "/"), "/")
		return first
	}
	mine, n := top(u.folder), 0
	for _, o := range all {
		if top(o.folder) == mine {
			n++
		}
	}
	if mine == "" || n < 2 || n == len(all) {
		return ""
	}
	return mine
}

// ownImages finds the services whose image is called like a unit: they are built from it, by other means than the compose file.
func ownImages(services []service, units []*unit) {
	for i := range services {
		s := &services[i]
		for _, u := range units {
			if !s.built && u.folder != "" && strings.EqualFold(s.image, path.Base(u.folder)) {
				s.built, s.folder, u.runs = true, u.folder, true
			}
		}
	}
}

// addServices adds what compose files take from elsewhere, and who needs it.
func (p *project) addServices(s *system, services []service, units []*unit, made []*element) {
	byName := map[string]*element{}
	for _, v := range services {
		if !v.built {
			e := &element{name: v.name, technology: cmp.Or(products[v.image], v.image), tags: []string{external}}
			if stores[e.technology] {
				e.tags = append(e.tags, "Database")
			}
			if e.technology == v.name || p.byPath[e.technology].Path != "" {
				e.technology = ""
			}
			s.add(e)
			byName[v.name] = e
			continue
		}
		deepest := -1
		for i, u := range units {
			if u.elsewhere == nil && below(cmp.Or(v.folder, p.root), u.folder) && (deepest < 0 || len(u.folder) >= len(units[deepest].folder)) {
				deepest = i
			}
		}
		if deepest < 0 && len(made) == 1 {
			deepest = 0 // built from the top, where the only container is
		}
		if deepest >= 0 {
			byName[v.name] = made[deepest]
		}
	}
	for _, v := range services {
		for _, name := range v.needs {
			if from, to := byName[v.name], byName[name]; from != nil && to != nil && from != to {
				s.needs = append(s.needs, need{from, to})
			}
		}
	}
}
