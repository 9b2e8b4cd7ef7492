package imports

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// cSharpResolver knows which files declare a namespace, and which projects see each other. A using names no file; it means
// every file that declares the namespace, as far as the project of the importing file can see.
type cSharpResolver struct {
	repo     *repository
	projects map[string]*cSharpProject // by path of the .csproj
	owner    map[string]*cSharpProject // by the folder of the project
	compiled map[string]*cSharpProject // by source file; missing for one that no project is above
	// declaring are the files of each namespace, sorted.
	declaring map[string][]string
	declared  []ManifestDependency
}

// cSharpProject is one .csproj.
type cSharpProject struct {
	file, folder string
	references   []string // of projects in this repository
	sees         map[string]bool
}

func newCSharpResolver(repo *repository) resolver {
	r := &cSharpResolver{
		repo: repo, projects: map[string]*cSharpProject{}, owner: map[string]*cSharpProject{},
		compiled: map[string]*cSharpProject{}, declaring: map[string][]string{},
	}
	for _, file := range repo.tree.Files() {
		if strings.EqualFold(path.Ext(file), ".csproj") || strings.EqualFold(path.Ext(file), ".shproj") {
			r.project(file)
		}
		if LanguageOf(file) == CSharp {
			for _, namespace := range repo.facts[file].Packages {
				r.declaring[namespace] = append(r.declaring[namespace], file)
			}
		}
	}
	for _, file := range repo.named(func(base string) bool {
		return base == "Directory.Build.props" || base == "Directory.Build.targets"
	}) {
		r.shared(file)
	}
	for _, p := range r.projects {
		r.see(p)
	}
	for file := range repo.facts {
		if p := r.projectOf(file); p != nil && LanguageOf(file) == CSharp {
			r.compiled[file] = p
		}
	}
	return r
}

func (r *cSharpResolver) dependencies() []ManifestDependency { return r.declared }

// project reads a .csproj. Of two in one folder, both own its files; the first stands for them.
func (r *cSharpResolver) project(file string) {
	p := &cSharpProject{file: file, folder: path.Dir(file)}
	r.projects[file] = p
	if other, taken := r.owner[p.folder]; taken {
		other.references = append(other.references, file)
	} else {
		r.owner[p.folder] = p
	}
	for _, reference := range r.references(file, p.folder) {
		p.references = append(p.references, reference.to)
		r.declared = append(r.declared, ManifestDependency{
			Manifest: file, Line: reference.line, From: p.folder, To: path.Dir(reference.to),
		})
	}
}

// shared adds the references of a Directory.Build file to the projects at and below its folder.
func (r *cSharpResolver) shared(file string) {
	folder := path.Dir(file)
	for _, reference := range r.references(file, folder) {
		for _, p := range r.projects {
			if within(folder, p.file) && p.file != reference.to {
				p.references = append(p.references, reference.to)
			}
		}
	}
}

type cSharpReference struct {
	to   string
	line int
}

// references gives the projects that a file of MSBuild references and the repository has. A path with a property other than
// the folder of the file itself is not followed.
func (r *cSharpResolver) references(file, folder string) []cSharpReference {
	text, ok := r.repo.manifest(file)
	if !ok {
		return nil
	}
	decoder := xml.NewDecoder(strings.NewReader(string(text)))
	decoder.Strict = false
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil } // paths are ASCII as a rule
	var out []cSharpReference
	for {
		token, err := decoder.RawToken()
		if token == nil {
			if !errors.Is(err, io.EOF) {
				r.repo.skip(file, err.Error())
			}
			return out
		}
		element, ok := token.(xml.StartElement)
		if !ok || element.Name.Local != "ProjectReference" && element.Name.Local != "Import" {
			continue
		}
		line, _ := decoder.InputPos()
		for _, attribute := range element.Attr {
			if attribute.Name.Local != "Include" && attribute.Name.Local != "Project" {
				continue
			}
			for named := range strings.SplitSeq(attribute.Value, ";") {
				if to, ok := r.projectFile(folder, named); ok {
					out = append(out, cSharpReference{to, line})
				}
			}
		}
	}
}

// projectFile finds the project that a path of MSBuild means. Case does not matter there.
func (r *cSharpResolver) projectFile(folder, named string) (string, bool) {
	named = strings.ReplaceAll(strings.TrimSpace(named), `\`, "/")
	for _, here := range []string{"$(MSBuildThisFileDirectory)", "$(MSBuildProjectDirectory)/", "$(ProjectDir)"} {
		named = strings.TrimPrefix(named, here)
	}
	// An import of a shared project names its .projitems, beside the .shproj.
	if stem, ok := strings.CutSuffix(named, ".projitems"); ok {
		named = stem + ".shproj"
	}
	file, inside := joinInside(folder, named)
	if !inside {
		return "", false
	}
	for _, sibling := range r.repo.content[path.Dir(file)] {
		if strings.EqualFold(sibling, file) && (strings.HasSuffix(strings.ToLower(file), "proj")) {
			return sibling, true
		}
	}
	return "", false
}

// see finds the projects that a project sees: itself and what it references, however far, as the SDK passes references on.
func (r *cSharpResolver) see(p *cSharpProject) {
	p.sees = map[string]bool{}
	queue := []string{p.file}
	for len(queue) > 0 {
		file := queue[0]
		queue = queue[1:]
		if project := r.projects[file]; project != nil && !p.sees[file] {
			p.sees[file] = true
			queue = append(queue, project.references...)
		}
	}
}

// projectOf gives the project that a file is compiled in: the nearest above it; nil for none.
func (r *cSharpResolver) projectOf(file string) *cSharpProject {
	for _, folder := range ancestors(path.Dir(file)) {
		if p, ok := r.owner[folder]; ok {
			return p
		}
	}
	return nil
}

func (r *cSharpResolver) resolve(file string, i Import) Resolution {
	own := r.compiled[file]
	var hidden string
	for _, name := range candidates(i) {
		files := r.named(name)
		if len(files) == 0 {
			continue
		}
		visible := slices.DeleteFunc(slices.Clone(files), func(f string) bool {
			p := r.compiled[f]
			return own != nil && p != nil && !own.sees[p.file] || isFramework(name) && (p == nil || !isFramework(path.Base(p.file)))
		})
		if len(visible) > 0 {
			return internal(visible...)
		}
		if !isFramework(name) {
			hidden = name
		}
	}
	if hidden != "" {
		return unresolved("%s is declared in this repository, but not in %s or a project it references", hidden, own.file)
	}
	return external()
}

// isFramework tells the names of .NET itself. Projects of other names declare in its namespaces too, so that their extensions
// are seen without a using; a using of one of these means the framework.
func isFramework(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	return first == "System" || first == "Microsoft"
}

// candidates gives the full names that a using may mean: within each namespace that it stands in, inside out, and as
// written.
func candidates(i Import) []string {
	var out []string
	for namespace := i.Name; namespace != ""; namespace = namespace[:max(0, strings.LastIndexByte(namespace, '.'))] {
		out = append(out, namespace+"."+i.Spec)
	}
	return append(out, i.Spec)
}

// named gives the files of a namespace, or those that declare a type of one, or the type that one is nested in.
func (r *cSharpResolver) named(name string) []string {
	if files := r.declaring[name]; len(files) > 0 {
		return files
	}
	for at := strings.LastIndexByte(name, '.'); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		inside, ok := r.declaring[name[:at]]
		if !ok {
			continue
		}
		typeName, _, _ := strings.Cut(name[at+1:], ".")
		return slices.DeleteFunc(slices.Clone(inside), func(file string) bool {
			return !slices.Contains(r.repo.facts[file].Types, typeName)
		})
	}
	return nil
}
