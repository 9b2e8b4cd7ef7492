package c4model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// IdentityProperty is the element property that says who an element is, whatever its key and name become.
const IdentityProperty = "stele.id"

// Known is an element that an earlier import left behind. What recognises it are Key, Parent, Level, Name and the property
// stele.id of its Element; the rest of the Element is compared to say what changed, all but Source.
type Known struct {
	ID      uuid.UUID
	Element Element
	Aliases []string // keys it had before
	Removed bool     // it left the model; it is kept, with what is attached to it
}

// Plan says what an import changes. Every known element that is not Removed yet is in exactly one of Changed, Moved,
// Removed and Unchanged; one that was removed before is in Changed or Moved when it came back, else nowhere. Every element
// of the new model is in exactly one of Added, Changed, Moved and Unchanged. Lists are ordered by key.
type Plan struct {
	Added     []Element `json:"added"`
	Changed   []Change  `json:"changed"`
	Moved     []Move    `json:"moved"`
	Removed   []Removal `json:"removed"`
	Unchanged []Same    `json:"unchanged"`
	// Aliases is every former key that leads to an element after the import. A key that an element of the new model
	// bears is never among them.
	Aliases []Alias `json:"aliases"`
}

// Same is an element that the import leaves as it is. Only its place in the source may differ.
type Same struct {
	ID      uuid.UUID `json:"id"`
	Element Element   `json:"element"`
}

// Change is an element that kept its key.
type Change struct {
	ID       uuid.UUID `json:"id"`
	Old      Element   `json:"old"`
	New      Element   `json:"new"`
	What     []string  `json:"what"`               // in words, at least one
	Restored bool      `json:"restored,omitempty"` // it was removed before
}

// Move is an element that has a new key. From stays as an alias unless a new element bears it.
type Move struct {
	ID       uuid.UUID `json:"id"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Old      Element   `json:"old"`
	New      Element   `json:"new"`
	Because  string    `json:"because"` // how it was recognised, in words
	What     []string  `json:"what"`    // other changes, in words; may be empty
	Restored bool      `json:"restored,omitempty"`
}

// Removal is an element that the new model does not have. What is attached to it stays, orphaned.
type Removal struct {
	ID       uuid.UUID    `json:"id"`
	Element  Element      `json:"element"`
	Reattach []Suggestion `json:"reattach"` // elements of the new model that may take its place, likeliest first; may be empty
}

// Suggestion is an element of the new model with the reason to think of it.
type Suggestion struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Alias is a former key of an element.
type Alias struct {
	Key string    `json:"key"`
	ID  uuid.UUID `json:"id"`
}

// Reconcile recognises the elements of a model among those known from earlier imports: by key; then by the property
// stele.id; then inside a moved parent by the own part of the key or the name; then by level and name when exactly one
// removed and one added element agree. Parents come before children, so that descendants follow a moved parent. It
// changes nothing, and its answer does not depend on the order of its arguments.
func Reconcile(old []Known, model Model) Plan {
	r := &reconciler{byKey: make(map[string]int), olds: slices.Clone(old), news: slices.Clone(model.Elements)}
	slices.SortFunc(r.olds, func(a, b Known) int {
		if c := strings.Compare(a.Element.Key, b.Element.Key); c != 0 {
			return c
		}
		return strings.Compare(a.ID.String(), b.ID.String())
	})
	slices.SortFunc(r.news, func(a, b Element) int { return strings.Compare(a.Key, b.Key) })
	r.oldOf = make([]int, len(r.news))
	r.newOf = make([]int, len(r.olds))
	r.because = make([]string, len(r.news))
	for i := range r.oldOf {
		r.oldOf[i] = none
		r.byKey[FoldKey(r.news[i].Key)] = i
	}
	for i := range r.newOf {
		r.newOf[i] = none
	}
	r.matchKeys()
	r.matchProperties()
	for _, levels := range [][]Level{{Person, System}, {Container}, {Component}, {Code}} {
		r.followParents(levels)
		r.matchNames(levels)
	}
	return r.plan()
}

const none = -1

type reconciler struct {
	olds    []Known
	news    []Element
	byKey   map[string]int // folded key to index in news
	oldOf   []int          // by index in news: the known element it is
	newOf   []int          // by index in olds
	because []string       // by index in news: how it was recognised
}

func (r *reconciler) match(o, n int, because string) {
	r.oldOf[n], r.newOf[o], r.because[n] = o, n, because
}

// matchKeys matches equal keys; an element that is there wins over a removed one that had the key.
func (r *reconciler) matchKeys() {
	for _, removed := range []bool{false, true} {
		for o, known := range r.olds {
			n, ok := r.byKey[FoldKey(known.Element.Key)]
			if ok && known.Removed == removed && r.oldOf[n] == none {
				r.match(o, n, "key")
			}
		}
	}
}

// matchProperties matches stele.id with the property of a known element or its id, when both sides bear it once.
func (r *reconciler) matchProperties() {
	r.matchUnique("property "+IdentityProperty, false,
		func(k Known) []string {
			if id := k.Element.Properties[IdentityProperty]; id != "" && id != k.ID.String() {
				return []string{id, k.ID.String()}
			}
			return []string{k.ID.String()}
		},
		func(e Element) string { return e.Properties[IdentityProperty] })
}

// matchUnique matches unmatched elements that share a mark which no other unmatched element on either side has.
func (r *reconciler) matchUnique(because string, present bool, oldMarks func(Known) []string, newMark func(Element) string) {
	olds := make(map[string][]int)
	for o, known := range r.olds {
		if r.newOf[o] != none || present && known.Removed {
			continue
		}
		for _, mark := range oldMarks(known) {
			if mark != "" {
				olds[mark] = append(olds[mark], o)
			}
		}
	}
	news := make(map[string][]int)
	for n, e := range r.news {
		if mark := newMark(e); r.oldOf[n] == none && mark != "" {
			news[mark] = append(news[mark], n)
		}
	}
	for n, e := range r.news {
		mark := newMark(e)
		if len(olds[mark]) != 1 || len(news[mark]) != 1 || r.oldOf[n] != none {
			continue
		}
		if o := olds[mark][0]; r.newOf[o] == none {
			r.match(o, n, because)
		}
	}
}

// followParents matches the children of a moved parent, by the own part of their keys and then by name.
func (r *reconciler) followParents(levels []Level) {
	moved := make(map[string]string) // folded key of the old parent to the folded key of the new one
	for n, o := range r.oldOf {
		if o != none && FoldKey(r.olds[o].Element.Key) != FoldKey(r.news[n].Key) {
			moved[FoldKey(r.olds[o].Element.Key)] = FoldKey(r.news[n].Key)
		}
	}
	for _, own := range []func(Element) string{
		func(e Element) string { return FoldKey(lastSegment(e.Key)) },
		func(e Element) string { return FoldName(e.Name) },
	} {
		r.matchUnique("its parent moved", true,
			func(k Known) []string {
				parent, ok := moved[FoldKey(k.Element.Parent)]
				if !ok || !slices.Contains(levels, k.Element.Level) {
					return nil
				}
				return []string{parent + "\x00" + string(k.Element.Level) + "\x00" + own(k.Element)}
			},
			func(e Element) string { return FoldKey(e.Parent) + "\x00" + string(e.Level) + "\x00" + own(e) })
	}
}

// matchNames matches a removed and an added element of equal level and name, when there is one of each.
func (r *reconciler) matchNames(levels []Level) {
	mark := func(e Element) string {
		if !slices.Contains(levels, e.Level) {
			return ""
		}
		return string(e.Level) + "\x00" + FoldName(e.Name)
	}
	r.matchUnique("no other element of its level and name was removed or added", true,
		func(k Known) []string { return []string{mark(k.Element)} }, mark)
}

func (r *reconciler) plan() Plan {
	p := Plan{Added: []Element{}, Changed: []Change{}, Moved: []Move{}, Removed: []Removal{}, Unchanged: []Same{}, Aliases: []Alias{}}
	for n, e := range r.news {
		o := r.oldOf[n]
		if o == none {
			p.Added = append(p.Added, e)
			continue
		}
		known := r.olds[o]
		what := differences(known.Element, e)
		switch {
		case FoldKey(known.Element.Key) != FoldKey(e.Key):
			p.Moved = append(p.Moved, Move{ID: known.ID, From: known.Element.Key, To: e.Key, Old: known.Element, New: e, Because: r.because[n], What: what, Restored: known.Removed})
		case known.Removed:
			p.Changed = append(p.Changed, Change{ID: known.ID, Old: known.Element, New: e, What: append([]string{"it is back after it was removed"}, what...), Restored: true})
		case len(what) > 0:
			p.Changed = append(p.Changed, Change{ID: known.ID, Old: known.Element, New: e, What: what})
		default:
			p.Unchanged = append(p.Unchanged, Same{ID: known.ID, Element: e})
		}
	}
	for o, known := range r.olds {
		if r.newOf[o] == none && !known.Removed {
			p.Removed = append(p.Removed, Removal{ID: known.ID, Element: known.Element, Reattach: r.suggest(known.Element)})
		}
	}
	p.Aliases = r.aliases()
	return p
}

// aliases gives the former keys that still lead somewhere. Elements that are there come first when two claim one.
func (r *reconciler) aliases() []Alias {
	aliases := []Alias{}
	taken := make(map[string]bool)
	claim := func(key string, id uuid.UUID, current string) {
		folded := FoldKey(key)
		if _, borne := r.byKey[folded]; borne || taken[folded] || key == "" || folded == FoldKey(current) {
			return
		}
		taken[folded] = true
		aliases = append(aliases, Alias{Key: key, ID: id})
	}
	for _, there := range []bool{true, false} {
		for o, known := range r.olds {
			current := known.Element.Key
			if n := r.newOf[o]; n != none {
				current = r.news[n].Key
			}
			if (r.newOf[o] != none) != there {
				continue
			}
			if there {
				claim(known.Element.Key, known.ID, current)
			}
			for _, alias := range slices.Sorted(slices.Values(known.Aliases)) {
				claim(alias, known.ID, current)
			}
		}
	}
	slices.SortFunc(aliases, func(a, b Alias) int { return strings.Compare(a.Key, b.Key) })
	return aliases
}

// maxSuggestions keeps a removal readable.
const maxSuggestions = 3

// suggest names elements of the new model that may take over what is attached to a removed one.
func (r *reconciler) suggest(old Element) []Suggestion {
	suggestions := []Suggestion{}
	add := func(e Element, reason string) {
		if len(suggestions) < maxSuggestions && !slices.ContainsFunc(suggestions, func(s Suggestion) bool { return s.Key == e.Key }) {
			suggestions = append(suggestions, Suggestion{Key: e.Key, Reason: reason})
		}
	}
	for n, e := range r.news {
		if FoldName(e.Name) == FoldName(old.Name) {
			if r.oldOf[n] == none {
				add(e, "new, with the same name")
			} else {
				add(e, "it has the same name")
			}
		}
	}
	for n, e := range r.news {
		if r.oldOf[n] == none && FoldKey(lastSegment(e.Key)) == FoldKey(lastSegment(old.Key)) {
			add(e, "new, with the same identifier in another place")
		}
	}
	if parent, ok := r.survivor(old); ok {
		add(parent, "the element around it is still there")
	}
	return suggestions
}

// survivor finds the nearest ancestor that is still in the model.
func (r *reconciler) survivor(old Element) (Element, bool) {
	where := make(map[string]int, len(r.olds))
	for o, known := range r.olds {
		where[FoldKey(known.Element.Key)] = o
	}
	for range depth { // no chain of parents is longer than there are levels
		o, ok := where[FoldKey(old.Parent)]
		if !ok {
			break
		}
		if n := r.newOf[o]; n != none {
			return r.news[n], true
		}
		old = r.olds[o].Element
	}
	return Element{}, false
}

// differences says in words what is different, apart from the key's path and the place in the source.
func differences(old, now Element) []string {
	what := []string{}
	text := func(field, a, b string) {
		switch {
		case a == b:
		case a == "":
			what = append(what, fmt.Sprintf("%s added: %q", field, b))
		case b == "":
			what = append(what, fmt.Sprintf("%s removed (was %q)", field, a))
		default:
			what = append(what, fmt.Sprintf("%s: %q, was %q", field, b, a))
		}
	}
	if FoldKey(old.Key) == FoldKey(now.Key) {
		text("spelling of the key", old.Key, now.Key)
	}
	text("name", old.Name, now.Name)
	text("level", string(old.Level), string(now.Level))
	text("description", old.Description, now.Description)
	text("technology", old.Technology, now.Technology)
	text("group", old.Group, now.Group)
	text("url", old.URL, now.URL)
	for _, tag := range missing(now.Tags, old.Tags) {
		what = append(what, fmt.Sprintf("tag added: %q", tag))
	}
	for _, tag := range missing(old.Tags, now.Tags) {
		what = append(what, fmt.Sprintf("tag removed: %q", tag))
	}
	names := make([]string, 0, len(old.Properties)+len(now.Properties))
	for name := range old.Properties {
		names = append(names, name)
	}
	for name := range now.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		a, hadIt := old.Properties[name]
		b, hasIt := now.Properties[name]
		switch {
		case hadIt && hasIt:
			text("property "+name, a, b)
		case hasIt:
			what = append(what, fmt.Sprintf("property %s added: %q", name, b))
		default:
			what = append(what, fmt.Sprintf("property %s removed (was %q)", name, a))
		}
	}
	if old.External != now.External {
		what = append(what, map[bool]string{true: "it is outside the project now", false: "it is inside the project now"}[now.External])
	}
	return what
}

// missing gives what a has and b lacks, sorted, once each.
func missing(a, b []string) []string {
	var only []string
	for _, x := range a {
		if !slices.Contains(b, x) {
			only = append(only, x)
		}
	}
	slices.SortFunc(only, cmp.Compare[string])
	return slices.Compact(only)
}

// Lookup finds the known element that a key leads to: the one that bears it, else the one that once did. Elements that
// are there win over removed ones.
func Lookup(known []Known, key string) (Known, bool) {
	folded := FoldKey(key)
	for _, alias := range []bool{false, true} {
		for _, removed := range []bool{false, true} {
			for _, k := range known {
				if k.Removed != removed {
					continue
				}
				if !alias && FoldKey(k.Element.Key) == folded ||
					alias && slices.ContainsFunc(k.Aliases, func(a string) bool { return FoldKey(a) == folded }) {
					return k, true
				}
			}
		}
	}
	return Known{}, false
}

// After gives what is known once the plan is carried out; newID makes the ids of added elements. Stores that keep their
// own rows do the same with SQL; this is the meaning they must have.
func (p Plan) After(old []Known, newID func() uuid.UUID) []Known {
	now := make(map[uuid.UUID]Element)
	for _, s := range p.Unchanged {
		now[s.ID] = s.Element
	}
	for _, c := range p.Changed {
		now[c.ID] = c.New
	}
	for _, m := range p.Moved {
		now[m.ID] = m.New
	}
	aliases := make(map[uuid.UUID][]string)
	for _, a := range p.Aliases {
		aliases[a.ID] = append(aliases[a.ID], a.Key)
	}
	after := make([]Known, 0, len(old)+len(p.Added))
	for _, k := range old {
		if e, ok := now[k.ID]; ok {
			k.Element, k.Removed = e, false
		} else {
			k.Removed = true
		}
		k.Aliases = aliases[k.ID]
		after = append(after, k)
	}
	for _, e := range p.Added {
		after = append(after, Known{ID: newID(), Element: e})
	}
	return after
}
