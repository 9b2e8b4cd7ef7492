package draft

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/imports"
)

// unit is what becomes a container: a folder that is built or run by itself, with the source files nearest to it.
type unit struct {
	folder     string   // "" at the top of the repository
	said                // by manifests; read when the unit is known to stay
	manifests  []string // files, the one of the main language first
	files      []drift.SurveyedFile
	members    []*unit  // units that it stands for; then it has no files of its own
	elsewhere  []string // folders of members, when its own folder holds other units, too
	components []component
}

// allFiles are its own and those of its members.
func (u *unit) allFiles() []drift.SurveyedFile {
	out := u.files
	for _, m := range u.members {
		out = slices.Concat(out, m.allFiles())
	}
	return out
}

func (u *unit) size() int64 { return size(u.allFiles()) }

func (u *unit) languages() map[imports.Language]int64 {
	sizes := map[imports.Language]int64{}
	for _, f := range u.allFiles() {
		sizes[f.Language] += max(f.Size, 1)
	}
	return sizes
}

// units finds what is built or run by itself, with every source file that counts in one of them, sorted by folder.
func (p *project) units(services []service) []*unit {
	found := p.manifested()
	p.addPrograms(found)
	for _, s := range services {
		if s.built && s.folder != "" && s.folder != p.root && p.holdsCode(s.folder) {
			p.at(found, s.folder).runs = true
		}
	}
	for _, f := range p.files {
		base := strings.ToLower(path.Base(f.Path))
		if folder := parent(f.Path); (base == "dockerfile" || base == "containerfile") && !f.Foreign && !f.Side && len(p.inside[folder]) > 0 {
			if u := found[folder]; u != nil {
				u.runs = true
			} else if folder != p.root {
				p.at(found, folder).runs = true
			}
		}
	}
	for {
		p.settle(found)
		if !p.dropHusks(found) {
			break
		}
	}
	p.addRest(found)
	p.settle(found)
	units := slices.Collect(maps.Values(found))
	slices.SortFunc(units, func(a, b *unit) int { return strings.Compare(a.folder, b.folder) })
	return units
}

func (p *project) at(found map[string]*unit, folder string) *unit {
	if found[folder] == nil {
		found[folder] = &unit{folder: folder}
	}
	return found[folder]
}

// holdsCode tells whether files that count lie in or below a folder.
func (p *project) holdsCode(folder string) bool {
	return slices.ContainsFunc(p.counts, func(f drift.SurveyedFile) bool { return below(f.Path, folder) })
}

// manifested finds the folders with a manifest that has something to build: source files of its languages, and no other
// such manifest nearer to them.
func (p *project) manifested() map[string]*unit {
	candidates := map[string]map[imports.Language]bool{} // by folder
	files := map[string][]string{}
	jvmBuild := map[string]bool{}
	for _, f := range p.files {
		if m, ok := manifestOf(f.Path); ok && !f.Foreign && !f.Side && !strings.Contains(f.Path, "/src/main/resources/") { // what is a resource is a template
			folder := parent(f.Path)
			if candidates[folder] == nil {
				candidates[folder] = map[imports.Language]bool{}
			}
			for _, l := range m.languages {
				candidates[folder][l] = true
			}
			files[folder] = append(files[folder], f.Path)
			if slices.Contains(m.languages, imports.Java) {
				jvmBuild[folder] = true
			}
		}
	}
	// A build for the JVM may say in one script what it builds in many folders; each has a src/main.
	for _, f := range p.counts {
		module, _, ok := strings.Cut("/"+f.Path, "/src/main/")
		module = strings.TrimPrefix(module, "/")
		if ok && slices.Contains(jvm, f.Language) && candidates[module] == nil && p.above(module, func(at string) bool { return jvmBuild[at] }) {
			candidates[module] = map[imports.Language]bool{}
			for _, l := range jvm {
				candidates[module][l] = true
			}
		}
	}
	found := map[string]*unit{}
	for _, f := range p.counts {
		for at := parent(f.Path); ; at = parent(at) {
			if candidates[at][f.Language] {
				u := p.at(found, at)
				u.manifests = files[at]
				break
			}
			if at == p.root || at == "" {
				break
			}
		}
	}
	return found
}

// above tells whether a folder or one above it, up to the root of the project, is as asked.
func (p *project) above(folder string, is func(string) bool) bool {
	for at := folder; ; at = parent(at) {
		if is(at) {
			return true
		}
		if at == p.root || at == "" {
			return false
		}
	}
}

// toolFolders hold programs that serve the build, not those who use the system.
var toolFolders = map[string]bool{"internal": true, "util": true, "utils": true, "tool": true, "build": true, "dev": true, "development": true, "documentation": true, "misc": true}

// addPrograms makes units of the main packages of Go modules that have several. One that is called like its module, or is the
// only one, is what the module is for: it stays a part of it.
func (p *project) addPrograms(found map[string]*unit) {
	programs := map[string][]string{} // by module
	for _, folder := range slices.Sorted(maps.Keys(p.inside)) {
		if !p.isProgram(folder) {
			continue
		}
		for at := folder; ; at = parent(at) {
			if u := found[at]; u != nil && slices.ContainsFunc(u.manifests, func(m string) bool { return path.Base(m) == "go.mod" }) {
				inside := strings.TrimPrefix(strings.TrimPrefix(folder, at), "/")
				if !slices.ContainsFunc(strings.Split(inside, "/"), func(s string) bool { return toolFolders[s] }) {
					programs[at] = append(programs[at], folder)
				}
				break
			}
			if at == p.root || at == "" {
				break
			}
		}
	}
	for module, folders := range programs {
		u := found[module]
		u.runs = u.runs || len(folders) == 1
		if len(folders) < 2 {
			continue
		}
		name := readGoMod(p.read(path.Join(module, "go.mod"))).name
		principal := slices.IndexFunc(folders, func(f string) bool { return f == module })
		if principal < 0 {
			principal = slices.IndexFunc(folders, func(f string) bool { return strings.EqualFold(path.Base(f), name) })
		}
		for i, folder := range folders {
			if i == principal {
				u.runs = true
			} else {
				p.at(found, folder).runs = true
			}
		}
	}
}

// isProgram tells whether a folder holds a Go program.
func (p *project) isProgram(folder string) bool {
	const looked = 5 // files; more than a few that no build takes do not lie in a program
	n := 0
	for _, f := range p.inside[folder] {
		if f.Language != imports.Go {
			continue
		}
		if n++; n > looked {
			return false
		}
		text := p.read(f.Path)
		head, _, _ := strings.Cut(text, "\npackage ")
		if strings.Contains(head, "//go:build ignore") || strings.Contains(head, "// +build ignore") {
			continue
		}
		facts, err := imports.Extract(f.Path, []byte(text))
		return err == nil && slices.Contains(facts.Packages, "main")
	}
	return false
}

// settle gives every file that counts to the unit nearest above it.
func (p *project) settle(found map[string]*unit) {
	for _, u := range found {
		u.files = nil
	}
	for _, f := range p.counts {
		p.above(parent(f.Path), func(at string) bool {
			u := found[at]
			if u != nil {
				u.files = append(u.files, f)
			}
			return u != nil
		})
	}
}

// dropHusks removes units that have only the settings of tools themselves, because what they build is in units below: roots
// of workspaces. It tells whether there were any.
func (p *project) dropHusks(found map[string]*unit) bool {
	dropped := false
	for folder, u := range found {
		parts := slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(other string) bool { return other != folder && below(other, folder) })
		builds := slices.ContainsFunc(u.files, func(f drift.SurveyedFile) bool { return parent(f.Path) != folder || !isSetting(f) })
		if len(u.files) == 0 || p.marginal(found, u) || parts && !u.runs && !builds {
			delete(found, folder)
			dropped = true
		}
	}
	return dropped
}

// marginal tells that the manifests of a unit build the lesser part of its files, while a unit around it may build the rest: a
// package.json for the mails in a folder of Go.
func (p *project) marginal(found map[string]*unit, u *unit) bool {
	if len(u.manifests) == 0 || u.folder == p.root || u.runs || !p.above(parent(u.folder), func(at string) bool { return found[at] != nil }) {
		return false
	}
	main := languages(u.files)[0]
	return !slices.ContainsFunc(u.manifests, func(file string) bool {
		m, _ := manifestOf(file)
		return slices.Contains(m.languages, main)
	})
}

// isSetting tells that a file in the folder of a manifest is read by a tool: vite.config.ts, conftest.py, build.rs.
func isSetting(f drift.SurveyedFile) bool {
	base := path.Base(f.Path)
	return strings.Contains(base, "config") || strings.Contains(base, ".setup.") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "vitest.") ||
		strings.HasPrefix(base, "jest.") || strings.HasPrefix(base, "gulpfile.") || strings.HasSuffix(base, ".d.ts") || base == "build.rs" || base == "setup.py" || base == "noxfile.py"
}

// addRest makes units of the code that no manifest explains: the whole project when there is no unit at all, else the highest
// folders that hold no unit and lie in none, and the files beside units.
func (p *project) addRest(found map[string]*unit) {
	if len(found) == 0 {
		if len(p.counts) > 0 {
			p.at(found, p.root)
		}
		return
	}
	explained := map[string]bool{} // folders around units
	for folder := range found {
		p.above(folder, func(at string) bool {
			explained[at] = true
			return false
		})
	}
	for _, f := range p.counts {
		if p.above(parent(f.Path), func(at string) bool { return found[at] != nil }) {
			continue
		}
		highest := ""
		p.above(parent(f.Path), func(at string) bool {
			if !explained[at] {
				highest = at
			}
			return explained[at]
		})
		switch {
		case highest != "":
			p.at(found, highest)
		case !isSetting(f): // beside the folders of units
			p.at(found, parent(f.Path))
		}
	}
}

// maxContainers bounds what is proposed: more is no picture.
const maxContainers = 40

// group joins units until there are few enough to be looked at: first modules that lie in one folder of their own, then the
// smallest of a folder.
func (p *project) group(units []*unit) []*unit {
	slices.SortFunc(units, compareUnits)
	for len(units) > maxContainers {
		folder, members := p.family(units)
		if folder == "" {
			break
		}
		if members[0].folder == folder && len(members[0].members) == 0 {
			units = absorb(units, members)
		} else {
			units = join(units, members, &unit{folder: folder, members: members, said: said{name: path.Base(folder)}})
		}
	}
	for len(units) > maxContainers {
		small, joined := p.smallest(units)
		if joined == nil {
			return units
		}
		units = join(units, small, joined)
	}
	return units
}

// absorb makes units parts of the one that they lie in, the first.
func absorb(units, members []*unit) []*unit {
	head := *members[0]
	head.files = slices.Clone(head.files)
	for _, m := range members[1:] {
		head.files = append(head.files, m.allFiles()...)
	}
	out := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return slices.Contains(members, u) })
	at, _ := slices.BinarySearchFunc(out, &head, compareUnits)
	return slices.Insert(out, at, &head)
}

func compareUnits(a, b *unit) int {
	return cmp.Or(strings.Compare(a.folder, b.folder), strings.Compare(a.name, b.name))
}

// join puts one unit in the place of others.
func join(units, others []*unit, joined *unit) []*unit {
	out := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool { return slices.Contains(others, u) })
	out = append(out, joined)
	slices.SortFunc(out, compareUnits)
	return out
}

// family finds the folder whose units are most clearly one thing: the one that holds the most of them and no more than a
// container has components; of several, the deepest.
func (p *project) family(units []*unit) (folder string, members []*unit) {
	inside := map[string][]*unit{}
	for _, u := range units {
		p.above(u.folder, func(at string) bool {
			if at != p.root && !passedThrough[strings.ToLower(path.Base(at))] {
				inside[at] = append(inside[at], u)
			}
			return false
		})
	}
	for _, at := range slices.Sorted(maps.Keys(inside)) {
		better := cmp.Or(len(inside[at])-len(members), strings.Count(at, "/")-strings.Count(folder, "/"))
		if n := len(inside[at]); n >= 2 && n <= maxComponents && better > 0 {
			folder, members = at, inside[at]
		}
	}
	return folder, members
}

// smallest joins the smallest units of the folder that has the most of them into one, as many as there are too many, and gives
// them with it. Of units that were joined before, it has the members.
func (p *project) smallest(units []*unit) (small []*unit, joined *unit) {
	siblings := map[string][]*unit{}
	for _, u := range units {
		if u.elsewhere == nil {
			top, _, nested := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(u.folder, p.root), "/"), "/")
			if !nested {
				top = ""
			}
			siblings[path.Join(p.root, top)] = append(siblings[path.Join(p.root, top)], u)
		}
	}
	var folder string
	for _, at := range slices.Sorted(maps.Keys(siblings)) {
		if len(siblings[at]) > len(siblings[folder]) {
			folder = at
		}
	}
	candidates := siblings[folder]
	if len(candidates) < 2 {
		return nil, nil
	}
	slices.SortStableFunc(candidates, func(a, b *unit) int { return cmp.Compare(a.size(), b.size()) })
	joined = &unit{folder: folder, said: said{name: strings.TrimSpace("other " + path.Base(cmp.Or(folder, "modules")))}}
	small = candidates[:min(len(candidates), len(units)-maxContainers+1)]
	for _, u := range small {
		if len(u.members) > 0 {
			joined.members = append(joined.members, u.members...)
		} else {
			joined.members = append(joined.members, u)
		}
	}
	slices.SortFunc(joined.members, func(a, b *unit) int { return strings.Compare(a.folder, b.folder) })
	for _, m := range joined.members {
		joined.elsewhere = append(joined.elsewhere, m.folder)
	}
	return small, joined
}
