package drift

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
)

// check is one applicable comparison. A failed one has a finding, unless it fails because its element is gone: then the
// findings of that element's bindings speak for it.
type check struct {
	element  int // that it counts for; -1 for none
	weight   int
	pass     bool
	vanishes bool     // fixing it removes the check instead of making it pass
	finding  *Finding // nil when it passes, or when others speak for it
	spokenBy []int    // elements whose existence findings speak for it
}

// evaluation is the state of one run while its checks are made.
type evaluation struct {
	in         *Input
	el         *elements
	fs         *files
	es         *edges
	owned      [][]*file                  // files of each element and of what lies in it
	matched    []int                      // for each binding, how many files it covers
	gone       []bool                     // bound, and nothing of it is there
	languages  []map[imports.Language]int // of owned source files, tests apart
	packages   []map[string]bool          // whose files an element owns, in the languages that have packages
	sees       []map[string]bool          // packages whose files those of an element use without an import
	documented map[pair]c4model.Relationship
	shownBy    map[string][]Place // every import behind an undocumented dependency, by fingerprint
	checks     []check
	unverified []Unverified
}

func evaluate(in *Input, el *elements, fs *files, es *edges) *evaluation {
	n := len(el.all)
	ev := &evaluation{
		in: in, el: el, fs: fs, es: es, owned: make([][]*file, n), matched: make([]int, len(in.Bindings)), gone: make([]bool, n),
		languages: make([]map[imports.Language]int, n), packages: make([]map[string]bool, n), sees: make([]map[string]bool, n),
		documented: map[pair]c4model.Relationship{}, shownBy: map[string][]Place{},
	}
	for i := range n {
		ev.languages[i], ev.packages[i], ev.sees[i] = map[imports.Language]int{}, map[string]bool{}, map[string]bool{}
	}
	for _, f := range fs.all {
		for _, b := range f.covering {
			ev.matched[b]++
		}
		for _, o := range f.owners {
			for at := o; at >= 0; at = el.parent[at] {
				ev.owned[at] = append(ev.owned[at], f)
				if f.source() && !f.test {
					ev.languages[at][f.language]++
					ev.enter(at, f)
				}
			}
		}
	}
	ev.markGone()
	ev.existence()
	ev.language()
	ev.dependencies()
	ev.undocumented()
	ev.contradictions()
	return ev
}

// enter notes the packages of a file that an element owns. Where a file declares none, it is the folder: for Go always, since
// there the name alone is no identity. Code in a namespace of C# sees those around it too.
func (ev *evaluation) enter(at int, f *file) {
	declared := ev.es.packages[f.Path]
	family := imports.FamilyOf(f.language)
	switch family {
	case imports.GoFamily:
		declared = nil
	case imports.JVMFamily, imports.DotNetFamily:
	default:
		return
	}
	if len(declared) == 0 {
		declared = []string{path.Dir(f.Path)}
	}
	for _, name := range declared {
		name = string(family) + " " + name
		ev.packages[at][name], ev.sees[at][name] = true, true
		for f.language == imports.CSharp && strings.Contains(name, ".") {
			name = name[:strings.LastIndexByte(name, '.')]
			ev.sees[at][name] = true
		}
	}
}

// markGone finds the elements of which nothing is there: no binding of theirs, or of what lies in them, matches.
func (ev *evaluation) markGone() {
	there := make([]bool, len(ev.gone))
	for i := range ev.el.all {
		for _, b := range ev.el.bindings[i] {
			if ev.matched[b] > 0 {
				for at := i; at >= 0; at = ev.el.parent[at] {
					there[at] = true
				}
			}
		}
	}
	for i := range ev.gone {
		ev.gone[i] = ev.el.bound[i] && !there[i]
	}
}

// applies tells whether an element is compared with code at all.
func (ev *evaluation) applies(i int) bool {
	return ev.el.inScope[i] && ev.el.bound[i] && ev.el.none[i] == ""
}

// existence compares every binding with the tracked files. An element without bindings of its own is there when something
// inside it is.
func (ev *evaluation) existence() {
	for i, e := range ev.el.all {
		if !ev.applies(i) {
			continue
		}
		weight := existenceWeight[e.Level]
		if len(ev.el.bindings[i]) == 0 {
			c := check{element: i, weight: weight, pass: !ev.gone[i]}
			if !c.pass {
				c.spokenBy = []int{i}
			}
			ev.checks = append(ev.checks, c)
			continue
		}
		for _, b := range ev.el.bindings[i] {
			c := check{element: i, weight: weight, pass: ev.matched[b] > 0}
			if !c.pass {
				pattern := ev.in.Bindings[b].Pattern
				c.finding = &Finding{
					Check: Existence, Outcome: Missing, Element: e.Key, Subject: pattern, File: e.Source.File, Line: e.Source.Line,
					Message: fmt.Sprintf("no file matches %s, where the model says that %s is", pattern, e.Name),
				}
			}
			ev.checks = append(ev.checks, c)
		}
	}
}

// language compares the languages a technology names with those of the files.
func (ev *evaluation) language() {
	for i, e := range ev.el.all {
		named := imports.Languages(e.Technology)
		if !ev.applies(i) || len(named) == 0 {
			continue
		}
		if ev.gone[i] {
			ev.checks = append(ev.checks, check{element: i, weight: languageWeight, spokenBy: []int{i}})
			continue
		}
		found, code := map[imports.Language]int{}, map[imports.Language]int{}
		for _, f := range ev.owned[i] {
			if f.language != "" && !f.foreign {
				found[f.language]++
				if imports.IsCode(f.language) && !supporting[f.language] {
					code[f.language]++
				}
			}
		}
		c := check{element: i, weight: languageWeight, pass: slices.ContainsFunc(named, func(l imports.Language) bool { return speaks(found, l) })}
		if !c.pass && len(code) == 0 {
			continue // documents and settings contradict nothing
		}
		if !c.pass {
			c.finding = &Finding{
				Check: LanguageMismatch, Element: e.Key, Subject: joinLanguages(named), File: e.Source.File, Line: e.Source.Line,
				Message: fmt.Sprintf("the technology of %s says %s, and its files are %s", e.Name, joinLanguages(named), describeLanguages(code)),
			}
		}
		ev.checks = append(ev.checks, c)
	}
}

// speaks tells whether files of the languages found hold a named one. TypeScript becomes JavaScript, and the single-file
// components of Svelte and Vue hold either.
func speaks(found map[imports.Language]int, named imports.Language) bool {
	switch named {
	case imports.JavaScript:
		return found[imports.JavaScript]+found[imports.TypeScript]+found[imports.Svelte]+found[imports.Vue] > 0
	case imports.TypeScript:
		return found[imports.TypeScript]+found[imports.Svelte]+found[imports.Vue] > 0
	default:
		return found[named] > 0
	}
}

func joinLanguages(list []imports.Language) string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = string(l)
	}
	slices.Sort(names)
	return strings.Join(names, " or ")
}

// describeLanguages names the languages of files, most files first.
func describeLanguages(found map[imports.Language]int) string {
	names := slices.SortedFunc(maps.Keys(found), func(a, b imports.Language) int {
		return cmp.Or(cmp.Compare(found[b], found[a]), strings.Compare(string(a), string(b)))
	})
	const shown = 3
	parts := make([]string, 0, shown)
	for _, l := range names[:min(len(names), shown)] {
		parts = append(parts, string(l))
	}
	return strings.Join(parts, ", ")
}

// contradictions are what the model and stele.yaml say against themselves.
func (ev *evaluation) contradictions() {
	type tie struct{ a, b string }
	ties := map[tie]*Finding{}
	for _, f := range ev.fs.all {
		for i, a := range f.owners {
			for _, b := range f.owners[i+1:] {
				first, second := ev.el.all[a], ev.el.all[b]
				if first.Key > second.Key {
					first, second = second, first
				}
				if ties[tie{first.Key, second.Key}] == nil {
					ties[tie{first.Key, second.Key}] = &Finding{
						Check: AmbiguousBinding, Element: first.Key, Subject: second.Key, File: f.Path,
						Message: fmt.Sprintf("%s and %s are bound to the same files, such as %s", first.Name, second.Name, f.Path),
					}
				}
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(ties), func(x, y tie) int { return cmp.Or(strings.Compare(x.a, y.a), strings.Compare(x.b, y.b)) }) {
		ev.checks = append(ev.checks, check{element: ev.el.byKey[c4model.FoldKey(k.a)], weight: contradictionWeight, vanishes: true, finding: ties[k]})
	}
	for _, d := range ev.in.Dangling {
		ev.checks = append(ev.checks, check{element: -1, weight: contradictionWeight, vanishes: true, finding: &Finding{
			Check: DanglingReference, Element: d.Key, Subject: d.Section, File: ev.in.SettingsFile,
			Message: fmt.Sprintf("stele.yaml speaks of %s under %s, and the model has no such element", d.Key, d.Section),
		}})
	}
}
