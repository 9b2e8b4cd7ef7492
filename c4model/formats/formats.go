// Package formats reads an architecture model in whatever format it is written: it looks at a file, or finds the model of
// a folder, and hands it to the reader of its format. It is the one place that knows all readers.
package formats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/internal/problem"
)

// format is one way to write a model. To add a reader, give its format a read function.
type format struct {
	name       string
	extensions []string
	// usual restricts which files of a folder are looked at; nil means all with the extension.
	usual *regexp.Regexp
	// holds tells from the beginning of a file with that extension whether it is a whole model of this format.
	holds func(beginning string) bool
	// read is nil while there is no reader.
	read func(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error)
}

var formats = []format{
	{
		name: "Structurizr DSL", extensions: []string{".dsl"},
		holds: regexp.MustCompile(`(?mi)^[\s\x{FEFF}]*workspace\b`).MatchString,
		read:  structurizr.ReadDSL,
	},
	{
		name: "Structurizr workspace JSON", extensions: []string{".json"},
		usual: regexp.MustCompile(`(?i)workspace|structurizr`),
		holds: regexp.MustCompile(`"(model|softwareSystems|lastModifiedAgent)"\s*:\s*[{\["]`).MatchString,
		read:  structurizr.ReadJSON,
	},
	{
		name: "LikeC4", extensions: []string{".c4", ".likec4"},
		holds: regexp.MustCompile(`(?m)^\s*(specification|model)\b`).MatchString,
	},
	{
		name: "C4-PlantUML", extensions: []string{".puml", ".plantuml", ".iuml"},
		holds: regexp.MustCompile(`(?m)C4_(Context|Container|Component)|^\s*(Person|System|Container|Component)(_Ext|Db|Queue)?\(`).MatchString,
	},
	{
		name: "Mermaid C4", extensions: []string{".mmd", ".mermaid"},
		holds: regexp.MustCompile(`(?m)^\s*C4(Context|Container|Component)`).MatchString,
	},
}

const (
	// beginningBytes is how much of a file decides its format; comment headers are long, exports put views before
	// nothing.
	beginningBytes = 64 << 10
	// maxSearched bounds the files looked at in a folder, so that a whole monorepo gets an answer at once.
	maxSearched = 50_000
	// maxDepth is how deep in a folder a model is looked for.
	maxDepth = 5
	// maxListed bounds the candidates in an error.
	maxListed = 10
)

var namingFixes = []string{
	"name the model file, such as docs/architecture/workspace.dsl",
}

// skippedFolders hold other people's models or none.
var skippedFolders = []string{"node_modules", "vendor", "testdata", "third_party", "dist", "build", "target"}

// Read reads the model at a path of this machine. A file is read as what it is; in a folder the one model is found, and
// several are an ambiguous problem that lists them. What a model includes is confined to the git repository around it, or
// to its own folder outside a repository; places in the result are relative to that folder, which Source names.
func Read(ctx context.Context, name string) (*c4model.Model, error) {
	source, err := Find(ctx, name)
	if err != nil {
		return nil, err
	}
	root, err := c4model.OpenRoot(source.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return ReadIn(ctx, root, source.File)
}

// Source is where a model is.
type Source struct {
	Root   string // folder of this machine that the model must not leave
	File   string // slash-separated, relative to Root
	Format string // name of the format
}

// ReadIn reads the model file name inside a root, such as an unpacked upload.
func ReadIn(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	f, err := recognise(ctx, root, name)
	if err != nil {
		return nil, err
	}
	if f.read == nil {
		return nil, unreadable(f.name, name)
	}
	return f.read(ctx, root, name)
}

// Find finds the model file at a path without reading it whole.
func Find(ctx context.Context, name string) (Source, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return Source{}, problem.Invalidf("path", "%s is no path", name).Because(err)
	}
	info, err := os.Stat(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("there is no file or folder %s", name), namingFixes...)
	case err != nil:
		return Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("%s cannot be read", name), "check its permissions").Because(err)
	}
	folder := absolute
	if !info.IsDir() {
		folder = filepath.Dir(absolute)
	}
	root := repository(folder)
	r, err := c4model.OpenRoot(root)
	if err != nil {
		return Source{}, err
	}
	defer func() { _ = r.Close() }()
	relative, err := filepath.Rel(root, absolute)
	if err != nil {
		return Source{}, problem.Invalidf("path", "%s is no path inside %s", name, root).Because(err)
	}
	file := filepath.ToSlash(relative)
	if info.IsDir() {
		if file, err = search(ctx, r, file, name); err != nil {
			return Source{}, err
		}
	}
	f, err := recognise(ctx, r, file)
	if err != nil {
		return Source{}, err
	}
	if f.read == nil {
		return Source{}, unreadable(f.name, file)
	}
	return Source{Root: root, File: file, Format: f.name}, nil
}

// repository gives the nearest folder around dir that git manages, dir itself when there is none.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// byExtension gives the format that a file name belongs to.
func byExtension(name string) (format, bool) {
	extension := strings.ToLower(path.Ext(name))
	i := slices.IndexFunc(formats, func(f format) bool { return slices.Contains(f.extensions, extension) })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// recognise gives the format of a file that somebody named. A DSL file need not look like a whole workspace, since its
// reader says better what is wrong with it.
func recognise(ctx context.Context, root *c4model.Root, name string) (format, error) {
	if f, ok := byExtension(name); ok {
		return f, nil
	}
	beginning, err := start(ctx, root, name)
	if err != nil {
		return format{}, problem.Invalidf("path", "%s cannot be read (%v)", name, err).Because(err)
	}
	for _, f := range formats {
		if f.holds(beginning) {
			return f, nil
		}
	}
	return format{}, problem.Invalidf("path", "%s is no architecture model that Stele knows", name).
		Fix("name a Structurizr file: workspace.dsl or workspace.json")
}

func unreadable(formatName, name string) *problem.Error {
	return problem.Invalidf("path", "%s is a %s model, which is not yet readable", name, formatName).
		Fix("use Structurizr DSL or a Structurizr workspace.json")
}

// start gives the beginning of a file.
func start(ctx context.Context, root *c4model.Root, name string) (string, error) {
	data, err := root.Beginning(ctx, name, beginningBytes)
	return string(data), err
}

// search finds the one model of a folder, which messages call as the caller did.
func search(ctx context.Context, root *c4model.Root, dir, called string) (string, error) {
	names, err := root.Search(ctx, dir, maxDepth, maxSearched, skippedFolders)
	if err != nil {
		return "", err
	}
	var candidates, unread []string
	for _, name := range names {
		f, ok := byExtension(name)
		if !ok || f.usual != nil && !f.usual.MatchString(path.Base(name)) {
			continue
		}
		if beginning, err := start(ctx, root, name); err != nil || !f.holds(beginning) {
			continue
		}
		if f.read == nil {
			unread = append(unread, name+" ("+f.name+")")
		} else {
			candidates = append(candidates, name)
		}
	}
	candidates = withoutExports(candidates)
	if len(candidates) > 1 {
		if name, ok := preferred(candidates, dir); ok {
			return name, nil
		}
	}
	switch {
	case len(candidates) == 1:
		return candidates[0], nil
	case len(candidates) > 1:
		return "", problem.New(problem.Ambiguous, "path", fmt.Sprintf("%s holds %d models: %s", called, len(candidates), list(candidates)), "name one of them")
	case len(unread) > 0:
		return "", problem.Invalidf("path", "%s holds no model that is readable yet: %s", called, list(unread)).Fix("use Structurizr DSL or a Structurizr workspace.json")
	}
	return "", problem.New(problem.NotFound, "path", fmt.Sprintf("%s holds no architecture model", called), namingFixes...)
}

// withoutExports drops a workspace.json that lies beside the DSL file it was exported from.
func withoutExports(candidates []string) []string {
	return slices.DeleteFunc(slices.Clone(candidates), func(name string) bool {
		stem, ok := strings.CutSuffix(name, ".json")
		return ok && slices.Contains(candidates, stem+".dsl")
	})
}

// preferred gives the workspace.dsl or workspace.json that lies in the folder itself: that is its model by convention,
// and what else is in it are parts or examples.
func preferred(candidates []string, dir string) (string, bool) {
	for _, conventional := range []string{"workspace.dsl", "workspace.json"} {
		if name := path.Join(dir, conventional); slices.Contains(candidates, name) {
			return name, true
		}
	}
	return "", false
}

func list(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
