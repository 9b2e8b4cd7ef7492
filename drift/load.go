package drift

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/formats"
	"github.com/stele-dev/stele/internal/config"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// Source says where the input of a run comes from.
type Source struct {
	Repository *git.Repository
	// Root is the folder of the project inside the repository, "" at the top.
	Root string
	// ModelFile is the model, relative to the top of the repository; "" is the one that stele.yaml names, or else the only one
	// of the project.
	ModelFile string
	// Model takes the place of a file: a model that is not tracked, or that a server keeps.
	Model *c4model.Model
	// Bindings are added to those of stele.yaml and the model, such as those of a server.
	Bindings []c4model.Binding
	// On is the day of evaluation; zero is the day of the commit.
	On time.Time
}

// maxSettings bounds a stele.yaml, in bytes; it is the bound of its parser.
const maxSettings = 256 << 10

// Load reads what a run over a commit needs, from that commit alone. A commit without a model is a *problem.Error of code
// NotFound; so is a model that cannot be read whole, with code Invalid and the place.
func (s Source) Load(ctx context.Context, ref string) (*Input, error) {
	commit, err := s.Repository.Commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	tree, err := s.Repository.Tree(ctx, commit.ID)
	if err != nil {
		return nil, err
	}
	return s.LoadTree(ctx, commit, tree)
}

// LoadTree is Load for a commit whose tree is known.
func (s Source) LoadTree(ctx context.Context, commit git.Commit, tree []git.Entry) (*Input, error) {
	blobs, err := s.Repository.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer blobs.Close()
	files := newTreeFS(blobs, commit, tree)
	in := &Input{Commit: commit, Tree: tree, Root: s.Root, ModelFile: s.ModelFile, Server: len(s.Bindings) > 0, On: s.On}
	if in.On.IsZero() {
		in.On = commit.Time
	}
	in.On = in.On.UTC().Truncate(24 * time.Hour)
	settings, err := readSettings(files, s.Root, in)
	if err != nil {
		return nil, err
	}
	if in.Model = s.Model; in.Model == nil {
		if err := s.readModel(ctx, files, settings, in); err != nil {
			return nil, err
		}
	} else {
		in.ModelFile = ""
	}
	return in, s.bind(ctx, files, settings, in)
}

// readSettings reads the project's stele.yaml, if it has one.
func readSettings(files *treeFS, root string, in *Input) (config.Repository, error) {
	name := path.Join(root, config.RepositoryFile)
	e, ok := files.files[name]
	if !ok {
		return config.Repository{}, nil
	}
	if e.Size > maxSettings {
		return config.Repository{}, problem.Invalidf(name, "the file has %d bytes, at most %d are read", e.Size, maxSettings).Fix("keep ids and globs in it, nothing else")
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return config.Repository{}, fmt.Errorf("%s: %w", name, err)
	}
	in.SettingsFile = name
	return config.ParseRepository(name, text)
}

// readModel reads the model that was named, that stele.yaml names, or the only one of the project.
func (s Source) readModel(ctx context.Context, files *treeFS, settings config.Repository, in *Input) error {
	root := c4model.NewRoot(files)
	if in.ModelFile == "" && settings.Model != "" {
		in.ModelFile = path.Join(s.Root, settings.Model)
	}
	if in.ModelFile == "" {
		in.ModelFile = cleanRoot(s.Root)
	}
	source, err := formats.FindIn(ctx, root, in.ModelFile)
	if problem.Is(err, problem.NotFound) && s.ModelFile == "" && settings.Model != "" {
		return problem.Invalidf(in.SettingsFile, "it names the model %s, and the commit has none there", settings.Model).Fix("correct its line model, or commit the file").Because(err)
	}
	if err != nil {
		return err
	}
	in.ModelFile = source.File
	in.Model, err = formats.ReadIn(ctx, root, source.File)
	return err
}

func cleanRoot(root string) string {
	if root == "" {
		return "."
	}
	return root
}

// bind collects the bindings: of stele.yaml, of the model, then those given.
func (s Source) bind(ctx context.Context, files *treeFS, settings config.Repository, in *Input) error {
	keys := map[string]string{}
	for _, e := range in.Model.Elements {
		keys[c4model.FoldKey(e.Key)] = e.Key
	}
	add := func(b c4model.Binding) {
		known := slices.ContainsFunc(in.Bindings, func(o c4model.Binding) bool { return o.Element == b.Element && o.Pattern == b.Pattern })
		if !known && b.Repository == "" {
			in.Bindings = append(in.Bindings, b)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(settings.Bindings)) {
		element, ok := keys[c4model.FoldKey(key)]
		if !ok {
			in.Dangling = append(in.Dangling, Dangling{Key: key, Section: "bindings"})
			continue
		}
		for _, glob := range settings.Bindings[key] {
			pattern, err := c4model.NormalizePattern(glob)
			if err != nil {
				return err
			}
			add(c4model.Binding{Element: element, Pattern: c4model.Rooted(s.Root, pattern), Source: config.RepositoryFile})
		}
	}
	in.None = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(settings.None)) {
		if element, ok := keys[c4model.FoldKey(key)]; ok {
			in.None[element] = settings.None[key]
		} else {
			in.Dangling = append(in.Dangling, Dangling{Key: key, Section: "none"})
		}
	}
	for _, glob := range settings.Ignore {
		pattern, err := c4model.NormalizePattern(glob)
		if err != nil {
			return err
		}
		in.Ignore = append(in.Ignore, c4model.Rooted(s.Root, pattern))
	}
	in.Waivers = settings.Waivers
	hints, warnings := c4model.BindingHints(in.Model, c4model.Tree{Remotes: s.Repository.Remotes(ctx), Exists: func(name string) bool { return files.exists(path.Clean(name)) }})
	for _, h := range hints {
		add(h)
	}
	for _, b := range s.Bindings {
		if element, ok := keys[c4model.FoldKey(b.Element)]; ok {
			b.Element = element
			add(b)
		}
	}
	if warnings = append(warnings, leaving(in.Model)...); len(warnings) > 0 {
		m := *in.Model // the caller's stays as it is
		m.Warnings = append(slices.Clone(m.Warnings), warnings...)
		in.Model = &m
	}
	return nil
}

// leaving warns of links of elements that lead out of the repository, which bind nothing: without a word the element would only
// show as unbound.
func leaving(m *c4model.Model) []c4model.Warning {
	var out []c4model.Warning
	for _, e := range m.Elements {
		link, _, _ := strings.Cut(strings.TrimSpace(e.URL), "#")
		if strings.Contains(link, ":") || strings.HasPrefix(link, "/") {
			continue // an address, and not a path
		}
		if inside := path.Join(path.Dir(e.Source.File), link); inside == ".." || strings.HasPrefix(inside, "../") {
			out = append(out, c4model.Warning{Position: e.Source, Message: fmt.Sprintf("the link of %s names no files of the repository: %q leads out of it", e.Key, e.URL)})
		}
	}
	return out
}
