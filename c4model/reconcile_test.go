package c4model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// id makes a readable id.
func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// element makes one of the level that the depth of its key says.
func element(key, name string) Element {
	level := []Level{System, Container, Component, Code}[strings.Count(key, ".")]
	return Element{Key: key, Name: name, Level: level, Parent: ParentKey(key)}
}

func model(elements ...Element) Model { return Model{Elements: elements} }

// outcome says a plan in one line for each element.
func outcome(p Plan) []string {
	lines := []string{}
	for _, e := range p.Added {
		lines = append(lines, "added "+e.Key)
	}
	for _, c := range p.Changed {
		lines = append(lines, fmt.Sprintf("changed %d %s: %s", c.ID[15], c.New.Key, strings.Join(c.What, "; ")))
	}
	for _, m := range p.Moved {
		lines = append(lines, fmt.Sprintf("moved %d %s to %s (%s): %s", m.ID[15], m.From, m.To, m.Because, strings.Join(m.What, "; ")))
	}
	for _, r := range p.Removed {
		lines = append(lines, fmt.Sprintf("removed %d %s", r.ID[15], r.Element.Key))
	}
	for _, s := range p.Unchanged {
		lines = append(lines, fmt.Sprintf("same %d %s", s.ID[15], s.Element.Key))
	}
	for _, a := range p.Aliases {
		lines = append(lines, fmt.Sprintf("alias %s of %d", a.Key, a.ID[15]))
	}
	return lines
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	with := func(e Element, property string) Element {
		e.Properties = map[string]string{IdentityProperty: property}
		return e
	}
	known := func(n byte, e Element, aliases ...string) Known {
		return Known{ID: id(n), Element: e, Aliases: aliases}
	}
	removed := func(n byte, e Element) Known { return Known{ID: id(n), Element: e, Removed: true} }
	tests := []struct {
		name string
		old  []Known
		new  Model
		want []string
	}{
		{"first import", nil, model(element("a", "A"), element("a.b", "B")), []string{"added a", "added a.b"}},
		{"same again", []Known{known(1, element("a", "A"))}, model(element("a", "A")), []string{"same 1 a"}},
		{"another spelling of the key", []Known{known(1, element("apiServer", "A"))}, model(element("apiserver", "A")),
			[]string{`changed 1 apiserver: spelling of the key: "apiserver", was "apiServer"`}},
		{"another name", []Known{known(1, element("a", "A"))}, model(element("a", "B")), []string{`changed 1 a: name: "B", was "A"`}},
		{"another key, same name", []Known{known(1, element("a", "Big  App"))}, model(element("b", "big app")),
			[]string{`moved 1 a to b (no other element of its level and name was removed or added): name: "big app", was "Big  App"`, "alias a of 1"}},
		{"another key and name", []Known{known(1, element("a", "A"))}, model(element("b", "B")), []string{"added b", "removed 1 a"}},
		{"another key and name, same property", []Known{known(1, with(element("a", "A"), "x"))}, model(with(element("b", "B"), "x")),
			[]string{`moved 1 a to b (property stele.id): name: "B", was "A"`, "alias a of 1"}},
		{"the property holds the id", []Known{known(1, element("a", "A"))}, model(with(element("b", "B"), id(1).String())),
			[]string{`moved 1 a to b (property stele.id): name: "B", was "A"; property stele.id added: "` + id(1).String() + `"`, "alias a of 1"}},
		{"a property on two elements settles nothing", []Known{known(1, with(element("a", "A"), "x"))}, model(with(element("b", "B"), "x"), with(element("c", "C"), "x")),
			[]string{"added b", "added c", "removed 1 a"}},
		{"the key wins over the property", []Known{known(1, with(element("a", "A"), "x"))}, model(element("a", "A"), with(element("b", "A"), "x")),
			[]string{"added b", `changed 1 a: property stele.id removed (was "x")`}},
		{"two of a name are not guessed", []Known{known(1, element("a", "N")), known(2, element("b", "N"))}, model(element("c", "N")),
			[]string{"added c", "removed 1 a", "removed 2 b"}},
		{"another level is not guessed", []Known{known(1, element("a", "N"))}, model(element("b", "B"), element("b.n", "N")), []string{"added b", "added b.n", "removed 1 a"}},
		{"descendants follow a renamed parent", []Known{known(1, element("a", "A")), known(2, element("a.x", "N")), known(3, element("a.y", "N")), known(4, element("a.x.c", "C"))},
			model(element("b", "A"), element("b.x", "N"), element("b.y", "N"), element("b.x.c", "C changed")),
			[]string{
				"moved 1 a to b (no other element of its level and name was removed or added): ",
				"moved 2 a.x to b.x (its parent moved): ", `moved 4 a.x.c to b.x.c (its parent moved): name: "C changed", was "C"`, "moved 3 a.y to b.y (its parent moved): ",
				"alias a of 1", "alias a.x of 2", "alias a.x.c of 4", "alias a.y of 3",
			}},
		{"a child moves to another parent", []Known{known(1, element("a", "A")), known(2, element("b", "B")), known(3, element("a.x", "X"))}, model(element("a", "A"), element("b", "B"), element("b.x", "X")),
			[]string{"moved 3 a.x to b.x (no other element of its level and name was removed or added): ", "same 1 a", "same 2 b", "alias a.x of 3"}},
		{"back after it was removed", []Known{removed(1, element("a", "A"))}, model(element("a", "A")), []string{"changed 1 a: it is back after it was removed"}},
		{"a removed one is not found by name", []Known{removed(1, element("a", "A"))}, model(element("b", "A")), []string{"added b"}},
		{"one that is there wins its key over a removed one", []Known{removed(1, element("a", "A")), known(2, element("a", "A"))}, model(element("a", "A")), []string{"same 2 a"}},
		{"an alias stays", []Known{known(1, element("b", "A"), "a")}, model(element("b", "A")), []string{"same 1 b", "alias a of 1"}},
		{"an alias does not capture who bears the key", []Known{known(1, element("b", "A"), "a")}, model(element("b", "A"), element("a", "A")), []string{"added a", "same 1 b"}},
		{"an alias alone is no identity", []Known{known(1, element("b", "B"), "a")}, model(element("a", "Other")), []string{"added a", "removed 1 b"}},
		{"aliases of removed elements stay", []Known{known(1, element("b", "B"), "a")}, model(), []string{"removed 1 b", "alias a of 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := outcome(Reconcile(test.old, test.new))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReattach(t *testing.T) {
	t.Parallel()
	old := []Known{
		{ID: id(1), Element: element("a", "A")},
		{ID: id(2), Element: element("a.x", "Orders")},
		{ID: id(3), Element: element("a.x.y", "Queue")},
	}
	p := Reconcile(old, model(element("a", "A"), element("a.one", "Orders"), element("a.two", "orders"), element("b", "B"), element("b.y", "Other")))
	got := map[string][]Suggestion{}
	for _, r := range p.Removed {
		got[r.Element.Key] = r.Reattach
	}
	want := map[string][]Suggestion{
		"a.x":   {{"a.one", "new, with the same name"}, {"a.two", "new, with the same name"}, {"a", "the element around it is still there"}},
		"a.x.y": {{"b.y", "new, with the same identifier in another place"}, {"a", "the element around it is still there"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	old := Element{Key: "a", Name: "A", Level: System, Technology: "Go", Tags: []string{"x", "y"}, Properties: map[string]string{"path": "a", "gone": "1"}}
	now := Element{Key: "a", Name: "A", Level: Container, Description: "New", Tags: []string{"y", "z"}, Properties: map[string]string{"path": "b", "come": "2"}, External: true}
	want := []string{
		`level: "container", was "system"`, `description added: "New"`, `technology removed (was "Go")`, `tag added: "z"`, `tag removed: "x"`,
		`property come added: "2"`, `property gone removed (was "1")`, `property path: "b", was "a"`, "it is outside the project now",
	}
	if diff := cmp.Diff(want, differences(old, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	moved := old
	moved.Source = Position{File: "elsewhere.dsl", Line: 9}
	moved.Tags = []string{"y", "x"}
	if what := differences(old, moved); len(what) != 0 {
		t.Errorf("place and order of tags are no change, got %v", what)
	}
}

// genModel draws a model in which names repeat and keys are few, so that imports meet often.
func genModel(t *rapid.T) Model {
	var m Model
	var grow func(parent string, depth int)
	grow = func(parent string, depth int) {
		segments := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "~d", "E"}), 0, 3, FoldKey).Draw(t, "segments")
		for _, segment := range segments {
			key := segment
			if parent != "" {
				key = parent + "." + segment
			}
			e := element(key, rapid.SampledFrom([]string{"One", "one", "Two", "Three"}).Draw(t, "name"))
			if rapid.IntRange(0, 4).Draw(t, "identified") == 0 {
				e.Properties = map[string]string{IdentityProperty: rapid.SampledFrom([]string{"p", "q"}).Draw(t, "property")}
			}
			m.Elements = append(m.Elements, e)
			if depth < 2 {
				grow(key, depth+1)
			}
		}
	}
	grow("", 0)
	return m
}

// counter makes ids in order.
func counter() func() uuid.UUID {
	n := byte(0)
	return func() uuid.UUID { n++; return id(n) }
}

// TestReconcileProperties imports a history of random models and checks after each what must always hold.
func TestReconcileProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		newID := counter()
		var known []Known
		for range rapid.IntRange(1, 5).Draw(t, "imports") {
			m := genModel(t)
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			p := Reconcile(known, m)
			checkPlan(t, known, m, p)

			shuffledKnown := rapid.Permutation(known).Draw(t, "known")
			shuffled := Model{Elements: rapid.Permutation(m.Elements).Draw(t, "elements")}
			if diff := cmp.Diff(p, Reconcile(shuffledKnown, shuffled)); diff != "" {
				t.Fatalf("the order of elements matters (-in order +shuffled):\n%s", diff)
			}

			known = p.After(known, newID)
			again := Reconcile(known, m)
			if len(again.Added)+len(again.Changed)+len(again.Moved)+len(again.Removed) > 0 {
				t.Fatalf("importing the same model again changes something: %v", outcome(again))
			}
			if diff := cmp.Diff(p.Aliases, again.Aliases, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("importing the same model again changes aliases:\n%s", diff)
			}
			for _, e := range m.Elements {
				if k, ok := Lookup(known, e.Key); !ok || k.Removed || FoldKey(k.Element.Key) != FoldKey(e.Key) {
					t.Fatalf("the key %s leads to %v", e.Key, k)
				}
			}
			for _, a := range p.Aliases {
				if k, ok := Lookup(known, a.Key); !ok || (k.ID != a.ID && !k.Removed && FoldKey(k.Element.Key) != FoldKey(a.Key)) {
					t.Fatalf("the alias %s of %s leads to %v", a.Key, a.ID, k)
				}
			}
		}
	})
}

func checkPlan(t *rapid.T, known []Known, m Model, p Plan) {
	used := map[uuid.UUID]int{}
	keys := map[string]int{}
	note := func(id uuid.UUID, key string) { used[id]++; keys[key]++ }
	for _, e := range p.Added {
		keys[e.Key]++
	}
	for _, c := range p.Changed {
		note(c.ID, c.New.Key)
		if len(c.What) == 0 {
			t.Fatalf("%s changed without saying what", c.New.Key)
		}
	}
	for _, c := range p.Moved {
		note(c.ID, c.New.Key)
		if FoldKey(c.From) == FoldKey(c.To) {
			t.Fatalf("%s moved to itself", c.From)
		}
	}
	for _, s := range p.Unchanged {
		note(s.ID, s.Element.Key)
	}
	for _, r := range p.Removed {
		used[r.ID]++
		for _, s := range r.Reattach {
			if !slices.ContainsFunc(m.Elements, func(e Element) bool { return e.Key == s.Key }) {
				t.Fatalf("suggested %s, which is not in the model", s.Key)
			}
		}
	}
	for _, k := range known {
		if n := used[k.ID]; n > 1 || n == 0 && !k.Removed {
			t.Fatalf("the id of %s is used %d times (removed before: %t)", k.Element.Key, n, k.Removed)
		}
	}
	if len(used) > len(known) {
		t.Fatalf("%d ids used, %d known", len(used), len(known))
	}
	for _, e := range m.Elements {
		if keys[e.Key] != 1 {
			t.Fatalf("%s is %d times in the plan", e.Key, keys[e.Key])
		}
	}
	seen := map[string]bool{}
	for _, a := range p.Aliases {
		folded := FoldKey(a.Key)
		if seen[folded] || slices.ContainsFunc(m.Elements, func(e Element) bool { return FoldKey(e.Key) == folded }) {
			t.Fatalf("the alias %s is borne by an element or stands twice", a.Key)
		}
		seen[folded] = true
	}
	for _, c := range p.Moved {
		folded := FoldKey(c.From)
		if !seen[folded] && !slices.ContainsFunc(m.Elements, func(e Element) bool { return FoldKey(e.Key) == folded }) {
			t.Fatalf("the old key %s leads nowhere", c.From)
		}
	}
}
