package drift

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
)

// dependencies compares documented relationships with imports, both ways. Each distinct pair of elements is one check.
func (ev *evaluation) dependencies() {
	el := ev.el
	for _, r := range ev.in.Model.Relationships {
		a, okA := el.byKey[c4model.FoldKey(r.Source)]
		b, okB := el.byKey[c4model.FoldKey(r.Destination)]
		if !okA || !okB || !el.inScope[a] || !el.inScope[b] || el.inside(a, b) || el.inside(b, a) {
			continue
		}
		// Several relationships between two elements: the one that an import could show decides.
		if known, ok := ev.documented[pair{a, b}]; !ok || overWire(known) != "" && overWire(r) == "" {
			ev.documented[pair{a, b}] = r
		}
	}
	for _, p := range ev.sorted(maps.Keys(ev.documented)) {
		ev.documentedPair(p, ev.documented[p])
	}
	ev.undocumentedPairs()
}

// sorted orders pairs by their keys, so that the order of declarations changes nothing.
func (ev *evaluation) sorted(pairs func(func(pair) bool)) []pair {
	return slices.SortedFunc(pairs, func(x, y pair) int {
		return cmp.Or(strings.Compare(ev.el.all[x.from].Key, ev.el.all[y.from].Key), strings.Compare(ev.el.all[x.to].Key, ev.el.all[y.to].Key))
	})
}

// documentedPair checks that the code shows what the model says.
func (ev *evaluation) documentedPair(p pair, r c4model.Relationship) {
	a, b := ev.el.all[p.from], ev.el.all[p.to]
	if !ev.applies(p.from) || !ev.applies(p.to) {
		return
	}
	if ev.es.shown(ev.el, p.from, p.to) {
		ev.checks = append(ev.checks, check{element: p.from, weight: edgeWeight, pass: true})
		return
	}
	if why := ev.cannotShow(p, r); why != "" {
		ev.unverified = append(ev.unverified, Unverified{Source: a.Key, Destination: b.Key, Reason: why})
		return
	}
	if ev.gone[p.from] || ev.gone[p.to] {
		c := check{element: p.from, weight: edgeWeight}
		for _, i := range []int{p.from, p.to} {
			if ev.gone[i] {
				c.spokenBy = append(c.spokenBy, i)
			}
		}
		ev.checks = append(ev.checks, c)
		return
	}
	ev.checks = append(ev.checks, check{element: p.from, weight: edgeWeight, finding: &Finding{
		Check: AbsentDependency, Element: a.Key, Subject: b.Key, File: r.Position.File, Line: r.Position.Line,
		Message: fmt.Sprintf("the model says that %s depends on %s, and no file of it imports one of the other", a.Name, b.Name),
	}})
}

// cannotShow says why imports could not show a documented dependency even if it is there; "" when they could.
func (ev *evaluation) cannotShow(p pair, r c4model.Relationship) string {
	if word := overWire(r); word != "" {
		return fmt.Sprintf("the relationship speaks of %q, which no import shows", word)
	}
	apart := ev.el.container(p.from) != ev.el.container(p.to)
	if ev.gone[p.from] || ev.gone[p.to] {
		if apart {
			return "one of them is gone, and what is deployed apart may have been reached over a network"
		}
		return ""
	}
	shared, language := ev.sharedFamily(p)
	switch {
	case language != "":
		return language
	case shared == "":
		return fmt.Sprintf("%s and %s hold no source code of languages that import each other", ev.el.all[p.from].Name, ev.el.all[p.to].Name)
	}
	for name := range ev.sees[p.from] {
		if ev.packages[p.to][name] {
			return fmt.Sprintf("%s owns files of a package that those of %s see without imports", ev.el.all[p.to].Name, ev.el.all[p.from].Name)
		}
	}
	if ev.reversed(p) {
		return fmt.Sprintf("%s imports %s instead, which is a finding of its own", ev.el.all[p.to].Name, ev.el.all[p.from].Name)
	}
	// Nothing unknown is compared with anything: the import that is missed may be among those that were not understood.
	const tolerated = 10 // percent
	if unknown, all := ev.es.unresolved(ev.el, p.from); 100*unknown > tolerated*all {
		return fmt.Sprintf("%d of the %d imports of %s that may lead to other files could not be resolved", unknown, all, ev.el.all[p.from].Name)
	}
	if b := ev.el.container(p.to); apart && !ev.es.imported(ev.el, b) {
		return fmt.Sprintf("nothing outside imports %s: what is deployed apart is reached over a network", ev.el.all[b].Name)
	}
	return ""
}

// reversed tells whether the code has a documented dependency the other way round only, as it does where one element registers
// itself with another that calls it, and the model does not say so. Then one finding says it, not two.
func (ev *evaluation) reversed(p pair) bool {
	drawn := slices.ContainsFunc(ev.in.Model.Relationships, func(r c4model.Relationship) bool {
		x, okX := ev.el.byKey[c4model.FoldKey(r.Source)]
		y, okY := ev.el.byKey[c4model.FoldKey(r.Destination)]
		return okX && okY && ev.el.related(x, p.to) && ev.el.related(y, p.from)
	})
	if drawn {
		return false
	}
	for q, e := range ev.es.byPair {
		if e.count > 0 && e.sure && ev.el.inside(q.from, p.to) && ev.el.inside(q.to, p.from) {
			return true
		}
	}
	return false
}

// sharedFamily gives a family of languages that both sides have source files of. The second result says why there is none
// to compare, when a side has no source files whose imports are read.
func (ev *evaluation) sharedFamily(p pair) (family imports.Family, why string) {
	sides := [2]map[imports.Family]bool{{}, {}}
	for n, i := range []int{p.from, p.to} {
		for l := range ev.languages[i] {
			if f := imports.FamilyOf(l); f != "" {
				sides[n][f] = true
			}
		}
		if len(sides[n]) == 0 {
			return "", fmt.Sprintf("%s has no source files whose imports are read", ev.el.all[i].Name)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(sides[0])) {
		if sides[1][f] {
			return f, ""
		}
	}
	return "", ""
}

// undocumentedPairs finds imports that the model does not know. Where it says nothing at all about two elements, the finding
// is about the outermost elements that differ, so that one line in the model settles it.
func (ev *evaluation) undocumentedPairs() {
	el := ev.el
	stated := map[pair]bool{}  // as written, over a wire or not
	implied := map[pair]bool{} // by relationships of what lies inside
	for _, r := range ev.in.Model.Relationships {
		a, okA := el.byKey[c4model.FoldKey(r.Source)]
		b, okB := el.byKey[c4model.FoldKey(r.Destination)]
		if !okA || !okB {
			continue
		}
		stated[pair{a, b}] = true
		for x := a; x >= 0; x = el.parent[x] {
			for y := b; y >= 0; y = el.parent[y] {
				if !el.inside(x, y) && !el.inside(y, x) {
					implied[pair{x, y}] = true
				}
			}
		}
	}
	found := map[pair]*edge{}
	for p, e := range ev.es.byPair {
		if e.count == 0 || !e.sure || !ev.applies(p.from) || !ev.applies(p.to) || implied[p] || ev.covered(stated, p) {
			continue
		}
		if a, b := el.siblings(p.from, p.to); !implied[pair{a, b}] && el.inScope[a] && el.inScope[b] {
			p = pair{a, b}
		}
		if found[p] == nil {
			found[p] = &edge{}
		}
		found[p].places = append(found[p].places, e.places...)
		found[p].count += e.count
	}
	for _, p := range ev.sorted(maps.Keys(found)) {
		e := found[p]
		slices.SortFunc(e.places, func(a, b Place) int { return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
		a, b := el.all[p.from], el.all[p.to]
		ev.shownBy[fingerprint(UndocumentedDependency, a.Key, b.Key)] = e.places
		ev.checks = append(ev.checks, check{element: p.from, weight: edgeWeight, finding: &Finding{
			Check: UndocumentedDependency, Element: a.Key, Subject: b.Key, File: e.places[0].File, Line: e.places[0].Line, Evidence: e.places[:min(len(e.places), maxEvidence)],
			Message: fmt.Sprintf("%s imports %s (%s), and the model has %s", a.Name, b.Name, times(e.count, "import"), ev.instead(implied, p)),
		}})
	}
}

// instead says what the model has in the place of a relationship.
func (ev *evaluation) instead(implied map[pair]bool, p pair) string {
	if implied[pair{p.to, p.from}] {
		return "a relationship only the other way round"
	}
	return "no relationship between them"
}

// covered tells whether somebody wrote down a dependency between elements around the two.
func (ev *evaluation) covered(stated map[pair]bool, p pair) bool {
	for x := p.from; x >= 0; x = ev.el.parent[x] {
		for y := p.to; y >= 0; y = ev.el.parent[y] {
			if stated[pair{x, y}] && !ev.el.inside(p.to, x) && !ev.el.inside(p.from, y) {
				return true
			}
		}
	}
	return false
}

// times counts in words: "1 import", "3 imports".
func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
