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
	"github.com/stele-dev/stele/c4model/likec4"
	"github.com/stele-dev/stele/c4model/plantuml"
	"github.com/stele-dev/stele/c4model/structurizr"
	"github.com/stele-dev/stele/internal/problem"
)

// format is one way to write a model. To add a reader, give its format a read function.
type format struct {
	name       string
	extensions []string
	// usual restricts which files of a folder are looked at; nil means all with the extension.
	usual *regexp.Regexp
	// holds tells from the beginning of a file with that extension whether it is a whole model of this format, or a part
	// of one where a folder is a model.
	holds func(beginning string) bool
	// folders gives the folders that are models, for files that were found somewhere below one folder; nil means that
	// each file is a model of its own.
	folders func(root *c4model.Root, files []string) []string
	// order says which models of a folder count when there are several formats: those that say more come first.
	order int
	// read reads a file, or a folder that is a model.
	read func(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error)
}

var formats = []format{
	{
		name: "Structurizr DSL", extensions: []string{".dsl"},
		holds: regexp.MustCompile(`(?mi)^[\s\x{FEFF}]*workspace\b`).MatchString,
		order: 1, read: structurizr.ReadDSL,
	},
	{
		name: "Structurizr workspace JSON", extensions: []string{".json"},
		usual: regexp.MustCompile(`(?i)workspace|structurizr`),
		holds: regexp.MustCompile(`"(model|softwareSystems|lastModifiedAgent)"\s*:\s*[{\["]`).MatchString,
		order: 1, read: structurizr.ReadJSON,
	},
	{
		name: "LikeC4", extensions: likec4.Extensions,
		holds:   regexp.MustCompile(`(?m)^\s*(specification|model)\s*\{`).MatchString,
		folders: projects, order: 2, read: readLikeC4,
	},
	{
		name: "C4-PlantUML", extensions: plantuml.Extensions,
		holds: regexp.MustCompile(`(?m)C4_(Context|Container|Component|Dynamic|Deployment|Sequence)\b|` +
			`^\s*(Person|System|Container|Component)(Db|Queue)?(_Ext|_Boundary)?\(`).MatchString,
		folders: outermost, order: 3,
		read: func(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
			return plantuml.Read(ctx, root, name, skippedFolders)
		},
	},
	{
		name: "Mermaid C4", extensions: plantuml.MermaidExtensions,
		holds:   regexp.MustCompile(`(?m)^\s*C4(Context|Container|Component|Dynamic|Deployment)\b`).MatchString,
		folders: outermost, order: 4,
		read: func(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
			return plantuml.ReadMermaid(ctx, root, name, skippedFolders)
		},
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
	"name the model, such as docs/architecture/workspace.dsl or the folder docs/architecture",
}

// skippedFolders hold other people's models or none.
var skippedFolders = []string{"node_modules", "vendor", "testdata", "third_party", "dist", "build", "target"}

// Read reads the model at a path of this machine. A file is read as what it is, with the folder around it where the format
// makes that one model; in a folder the one model is found, and several are an ambiguous problem that lists them. What a
// model includes is confined to the git repository around it, or to its own folder outside a repository; places in the
// result are relative to that folder, which Source names.
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
	File   string // file or folder of the model, slash-separated, relative to Root
	Format string // name of the format
}

// ReadIn reads the model at name, a file or a folder inside a root, such as an unpacked upload.
func ReadIn(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	name, f, err := findIn(ctx, root, name, name)
	if err != nil {
		return nil, err
	}
	return f.read(ctx, root, name)
}

// Find finds the model at a path without reading it whole.
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
	file, f, err := findIn(ctx, r, filepath.ToSlash(relative), name)
	if err != nil {
		return Source{}, err
	}
	return Source{Root: root, File: file, Format: f.name}, nil
}

// FindIn finds the model at a name inside a root, as Find does on this machine; the Root of its answer is empty.
func FindIn(ctx context.Context, root *c4model.Root, name string) (Source, error) {
	if _, err := root.Stat(name); err != nil {
		return Source{}, problem.New(problem.NotFound, "path", fmt.Sprintf("there is no file or folder %s", name), namingFixes...).Because(err)
	}
	file, f, err := findIn(ctx, root, name, name)
	if err != nil {
		return Source{}, err
	}
	return Source{File: file, Format: f.name}, nil
}

// findIn finds the model at a name inside root, which messages call as the caller did.
func findIn(ctx context.Context, root *c4model.Root, name, called string) (string, format, error) {
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return search(ctx, root, name, called)
	}
	f, err := recognise(ctx, root, name)
	return name, f, err
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
		Fix("name a model of Structurizr (workspace.dsl, workspace.json), LikeC4 (.c4), C4-PlantUML (.puml) or Mermaid (.mmd)")
}

// start gives the beginning of a file.
func start(ctx context.Context, root *c4model.Root, name string) (string, error) {
	data, err := root.Beginning(ctx, name, beginningBytes)
	return string(data), err
}

// search finds the one model of a folder. Where models of several formats lie in it, the one that says more counts, since
// diagrams are often exported from it.
func search(ctx context.Context, root *c4model.Root, dir, called string) (string, format, error) {
	names, err := root.Search(ctx, dir, maxDepth, maxSearched, skippedFolders)
	if err != nil {
		return "", format{}, err
	}
	found := make(map[string][]string) // by the name of the format
	for _, name := range names {
		f, ok := byExtension(name)
		if !ok || f.usual != nil && !f.usual.MatchString(path.Base(name)) {
			continue
		}
		if beginning, err := start(ctx, root, name); err == nil && f.holds(beginning) {
			found[f.name] = append(found[f.name], name)
		}
	}
	order, is := 0, make(map[string]format)
	var candidates []string
	for _, f := range formats {
		models := found[f.name]
		if len(models) == 0 || order > 0 && f.order > order {
			continue
		}
		order = f.order
		if f.folders != nil {
			models = f.folders(root, models)
		}
		for _, m := range models {
			is[m] = f
		}
		candidates = append(candidates, models...)
	}
	slices.Sort(candidates)
	candidates = withoutExports(candidates)
	switch {
	case len(candidates) == 0:
		return "", format{}, problem.New(problem.NotFound, "path", fmt.Sprintf("%s holds no architecture model", called), namingFixes...)
	case len(candidates) > 1:
		name, ok := preferred(candidates, dir)
		if !ok {
			return "", format{}, problem.New(problem.Ambiguous, "path", fmt.Sprintf("%s holds %d models: %s", called, len(candidates), list(candidates)), "name one of them")
		}
		return name, is[name], nil
	}
	return candidates[0], is[candidates[0]], nil
}

// readLikeC4 reads the folder of a model, also when one of its files is named.
func readLikeC4(ctx context.Context, root *c4model.Root, name string) (*c4model.Model, error) {
	info, err := root.Stat(name)
	if err == nil && !info.IsDir() {
		name, err = likec4.Folder(ctx, root, name)
	}
	if err != nil {
		return nil, problem.Invalidf("path", "%s cannot be read (%v)", name, err).Because(err)
	}
	return likec4.Read(ctx, root, name, skippedFolders)
}

// projects gives the projects of LikeC4 that files belong to: the nearest folder around each that is one, and for all
// others together the folder that holds them all.
func projects(root *c4model.Root, files []string) []string {
	var dirs, rest []string
	for _, file := range files {
		dir := path.Dir(file)
		for dir != "." && !likec4.IsProject(root, dir) {
			dir = path.Dir(dir)
		}
		if dir != "." || likec4.IsProject(root, dir) {
			dirs = append(dirs, dir)
		} else {
			rest = append(rest, path.Dir(file))
		}
	}
	if len(rest) > 0 {
		common := rest[0]
		for _, dir := range rest[1:] {
			for !inside(dir, common) {
				common = path.Dir(common)
			}
		}
		dirs = append(dirs, common)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// outermost gives the folders of files that lie in no other such folder.
func outermost(_ *c4model.Root, files []string) []string {
	var dirs []string
	for _, file := range files {
		dirs = append(dirs, path.Dir(file))
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return slices.ContainsFunc(dirs, func(other string) bool { return other != dir && inside(dir, other) })
	})
}

func inside(dir, around string) bool {
	return around == "." || dir == around || strings.HasPrefix(dir, around+"/")
}

// withoutExports drops a workspace.json that lies beside the DSL file it was exported from.
func withoutExports(candidates []string) []string {
	return slices.DeleteFunc(slices.Clone(candidates), func(name string) bool {
		stem, ok := strings.CutSuffix(name, ".json")
		return ok && slices.Contains(candidates, stem+".dsl")
	})
}

// preferred gives the workspace.dsl or workspace.json that lies in the folder itself, or the folder itself: that is its
// model by convention, and what else is in it are parts or examples.
func preferred(candidates []string, dir string) (string, bool) {
	if slices.Contains(candidates, dir) {
		return dir, true
	}
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
