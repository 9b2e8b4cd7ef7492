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

const (
	// maxComponents bounds those of one container.
	maxComponents = 12
	// fewContainers is how many containers a proposal may have for single files to become components: beyond that they would
	// hide what matters.
	fewContainers = 5
	// fewPrograms is the same for the files of units that run by themselves.
	fewPrograms = 12
)

// component is a top package of a unit.
type component struct {
	name, about string
	paths       []string // folders or files
	sizes       map[imports.Language]int64
}

// passedThrough are folders that say what kind of thing they hold and not what it is for; what is in them counts as if it lay
// beside them.
var passedThrough = map[string]bool{
	"src": true, "source": true, "sources": true, "lib": true, "libs": true, "internal": true, "pkg": true, "cmd": true, "app": true, "apps": true,
	"main": true, "java": true, "kotlin": true, "scala": true, "python": true, "packages": true, "modules": true, "crates": true, "services": true,
	"projects": true, "components": true, "features": true, "plugins": true, "common": true, "commonmain": true, "pkgs": true,
}

// meaningless are folders that are no part of a unit: its whole, or what tools keep in it.
var meaningless = map[string]bool{
	"src": true, "source": true, "sources": true, "lib": true, "main": true, "java": true, "java8": true, "java9": true, "java11": true, "kotlin": true,
	"scala": true, "python": true, "jvmmain": true, "commonmain": true, "benches": true, "fuzz": true, "properties": true, "test_data": true,
	"test-utils": true, "testutil": true, "testutils": true, "public": true,
}

// node is a folder of a unit, or a file in it.
type node struct {
	path     string
	file     bool
	sizes    map[imports.Language]int64
	size     int64
	children map[string]*node
	files    []drift.SurveyedFile // directly in it
}

// tree is the folders of a unit.
func tree(u *unit) *node {
	top := &node{path: u.folder, children: map[string]*node{}, sizes: map[imports.Language]int64{}}
	for _, f := range u.files {
		at := top
		at.add(f)
		folders := strings.Split(strings.TrimPrefix(strings.TrimPrefix(f.Path, u.folder), "/"), "/")
		for _, name := range folders[:len(folders)-1] {
			if at.children[name] == nil {
				at.children[name] = &node{path: path.Join(at.path, name), children: map[string]*node{}, sizes: map[imports.Language]int64{}}
			}
			at = at.children[name]
			at.add(f)
		}
		at.files = append(at.files, f)
	}
	return top
}

func (n *node) add(f drift.SurveyedFile) {
	n.sizes[f.Language] += max(f.Size, 1)
	n.size += max(f.Size, 1)
}

func (n *node) sorted() []*node {
	out := slices.Collect(maps.Values(n.children))
	slices.SortFunc(out, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	return out
}

// packages chooses the parts of a unit that its reader has to know: its folders, opened where a folder only passes through or
// holds most of the unit, the largest where there are too many. Where a unit has hardly any folders and few units are
// proposed, its files are parts, too.
func packages(u *unit, few bool) []*node {
	top := tree(u)
	opened := []*node{top}
	parts := top.sorted()
	for {
		at := alone(parts, opened, top.size)
		if at < 0 {
			at = slices.IndexFunc(parts, func(n *node) bool { return opens(n, top.size, len(parts)) })
		}
		if at < 0 {
			break
		}
		n := parts[at]
		opened = append(opened, n)
		parts = slices.Concat(parts[:at:at], n.sorted(), parts[at+1:])
	}
	detail := func(n *node) bool {
		const least = 200 // parts of the whole
		return n.size*least < top.size || meaningless[strings.ToLower(path.Base(n.path))]
	}
	parts = slices.DeleteFunc(parts, detail)
	const fewFolders = 3
	if few && len(parts) < fewFolders {
		parts = slices.DeleteFunc(append(parts, modules(opened, parts)...), detail)
	}
	slices.SortStableFunc(parts, func(a, b *node) int { return cmp.Compare(b.size, a.size) })
	parts = parts[:min(len(parts), maxComponents)]
	slices.SortFunc(parts, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// alone finds the only folder of a unit that matters; -1 where there are several, or files beside it.
func alone(parts, opened []*node, whole int64) int {
	const least, few = 50, 20 // parts of the whole
	var files int64
	for _, n := range opened {
		files += size(n.files)
	}
	if files*few >= whole {
		return -1
	}
	at := -1
	for i, n := range parts {
		if n.size*least >= whole {
			if at >= 0 {
				return -1
			}
			at = i
		}
	}
	return at
}

// opens tells whether what is in a folder should stand in its place, of a unit of that size with that many parts.
func opens(n *node, whole int64, parts int) bool {
	inside, folders := len(n.children), int64(0)
	for _, c := range n.children {
		folders += c.size
	}
	const most, half, quarter, few = 5, 2, 4, 4 // sixths; the others are parts of the whole, and few parts
	through := passedThrough[strings.ToLower(path.Base(n.path))]
	switch {
	case n.file || inside == 0:
		return false
	case inside == 1 && len(n.files) == 0 || through && n.size*(most+1) >= whole*most:
		return true
	case through:
		return parts-1+inside <= maxComponents
	case folders*half < n.size:
		return false // its files are what it is
	}
	large := n.size*half >= whole || inside > 1 && parts <= few && n.size*quarter >= whole
	return n.size*(most+1) >= whole*most || large && parts-1+inside <= maxComponents
}

// nameless are modules that say nothing by their name: entry points and what every module has.
var nameless = map[string]bool{"__init__": true, "index": true, "mod": true, "lib": true, "main": true, "version": true, "_version": true, "__main__": true}

// modules are the files of opened folders, where a file is a module.
func modules(opened, folders []*node) []*node {
	var out []*node
	for _, n := range opened {
		for _, f := range n.files {
			stem := strings.TrimSuffix(f.Path, path.Ext(f.Path))
			separate := f.Language == imports.Python || f.Language == imports.Rust || slices.Contains(web, f.Language)
			beside := slices.ContainsFunc(folders, func(o *node) bool { return o.path == stem })
			if !separate || beside || nameless[path.Base(stem)] || isSetting(f) {
				continue
			}
			m := &node{path: f.Path, file: true, sizes: map[imports.Language]int64{}}
			m.add(f)
			out = append(out, m)
		}
	}
	return out
}

// divide gives a unit its components: its members, or its packages.
func (p *project) divide(u *unit, few bool) {
	if len(u.members) > 0 {
		members := slices.Clone(u.members)
		slices.SortStableFunc(members, func(a, b *unit) int { return cmp.Compare(b.size(), a.size()) })
		members = members[:min(len(members), maxComponents)]
		slices.SortFunc(members, func(a, b *unit) int { return strings.Compare(a.folder, b.folder) })
		for _, m := range members {
			if m.folder == u.folder {
				continue // what lies around the others is the container itself
			}
			u.components = append(u.components, component{name: m.name, about: m.about, paths: []string{m.folder}, sizes: m.languages()})
		}
		return
	}
	for _, n := range packages(u, few) {
		c := component{name: path.Base(n.path), paths: []string{n.path}, sizes: n.sizes}
		if n.file {
			c.name = strings.TrimSuffix(c.name, path.Ext(c.name))
		} else if twin := p.first(parent(n.path), path.Base(n.path)+".rs"); twin != "" {
			c.paths = append(c.paths, twin) // the module whose parts lie in the folder
		}
		c.about = p.about(n)
		u.components = append(u.components, c)
	}
	named := map[string]int{u.name: 1}
	for _, c := range u.components {
		named[c.name]++
	}
	for i := range u.components {
		c := &u.components[i]
		if above := path.Base(parent(c.paths[0])); named[c.name] > 1 && above != "." && above != "" {
			c.name = above + "/" + c.name
		}
	}
}

// places gives the folders and, with a slash before them, globs that a container is bound to beside its components. Below the root of the project that is
// its folder. At the root, where everything else lies, too, it is the folders with its files, and its files there.
func (p *project) places(u *unit, others []*unit) []string {
	switch {
	case u.elsewhere != nil:
		owned := map[string]bool{}
		for _, c := range u.components {
			owned[c.paths[0]] = true
		}
		return slices.DeleteFunc(slices.Clone(u.elsewhere), func(f string) bool { return owned[f] })
	case u.folder != p.root:
		return []string{u.folder}
	}
	top := tree(u)
	endings := map[string]bool{}
	for _, f := range top.files {
		ending := path.Ext(f.Path)
		switch {
		case ending == "" || p.endsFolder(ending): // the glob would take the folder, too
			endings[f.Path] = true
		default:
			endings["/"+path.Join(p.root, "*"+ending)] = true
		}
	}
	owned := map[string]bool{}
	for _, c := range u.components {
		for _, at := range c.paths {
			owned[at] = true
		}
	}
	out := slices.Sorted(maps.Keys(endings))
	for _, n := range top.sorted() {
		out = append(out, n.whole(owned, others)...)
	}
	return out
}

// endsFolder tells whether a folder at the root of the project is called like a file of that ending.
func (p *project) endsFolder(ending string) bool {
	return slices.ContainsFunc(p.counts, func(f drift.SurveyedFile) bool {
		first, _, nested := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(f.Path, p.root), "/"), "/")
		return nested && strings.HasSuffix(first, ending)
	})
}

// whole gives the highest folders that hold mostly files of the unit, those apart that are owned already. What lies deeper and
// is of others goes to them, who name it more exactly.
func (n *node) whole(owned map[string]bool, others []*unit) []string {
	switch {
	case owned[n.path]:
		return nil
	case len(n.files) > 0:
		return []string{n.path}
	}
	var theirs int64
	for _, o := range others {
		if o.folder != n.path && below(o.folder, n.path) {
			theirs += o.size()
		}
	}
	if n.size >= theirs {
		return []string{n.path}
	}
	var out []string
	for _, child := range n.sorted() {
		out = append(out, child.whole(owned, others)...)
	}
	return out
}
