package memory_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

func (w *world) importModel(change func(*memory.ModelImport)) memory.ModelReport {
	w.t.Helper()
	im := shopModel()
	if change != nil {
		change(&im)
	}
	r, err := w.ImportModel(context.Background(), w.c, im)
	w.must(err)
	return r
}

func keysOf(m memory.Memory) []string {
	var keys []string
	for _, e := range m.Elements {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestImportTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	r := w.importModel(nil)
	if len(r.Added)+len(r.Changed)+len(r.Removed) != 0 {
		t.Errorf("a second import of the same model reports %+v", r)
	}
	if r.Elements[c4model.Container] != 2 || r.Elements[c4model.Component] != 2 || r.Relationships != 1 {
		t.Errorf("counts %+v", r)
	}
}

// An element that got another key and name is still itself: memories stay on it and are found by the new name, whatever
// space they are in.
func TestRenameCarriesMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	for _, scope := range []memory.Scope{memory.Project, memory.Personal, memory.Organization} {
		w.remember(memory.RememberRequest{Content: "never twice, says the " + string(scope), Scope: scope, Elements: []string{"shop.api"}})
	}
	r := w.importModel(func(im *memory.ModelImport) {
		for i := range im.Model.Elements {
			e := &im.Model.Elements[i]
			if e.Key == "shop.api" {
				e.Name = "Checkout"
			}
			if e.Key == "shop.web" {
				e.Key = "shop.front"
			}
			e.Parent = strings.ReplaceAll(e.Parent, "shop.web", "shop.front")
			e.Key = strings.ReplaceAll(e.Key, "shop.web.", "shop.front.")
		}
		im.Model.Relationships[0].Source = "shop.front"
		im.Bindings[0].Element = "shop.front"
	})
	if len(r.Added) != 0 || len(r.Removed) != 0 || len(r.Changed) != 3 {
		t.Errorf("a rename reports %+v", r)
	}
	found, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "checkout"})
	w.must(err)
	if len(found.Results) != 3 {
		t.Errorf("%d of 3 memories are found by the element's new name", len(found.Results))
	}
	gone, err := w.Recall(ctx, w.c, memory.RecallRequest{Query: "orders"})
	w.must(err)
	if len(gone.Results) != 0 {
		t.Errorf("%d memories are still found by the old name", len(gone.Results))
	}
	m := w.remember(memory.RememberRequest{Content: "the old key still works", Elements: []string{"shop.web"}}).Memory
	if keys := keysOf(m); !slices.Equal(keys, []string{"shop.front"}) {
		t.Errorf("the former key leads to %v", keys)
	}
}

func TestElementThatLeftKeepsItsMemories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.remember(memory.RememberRequest{Content: "tokens are opaque", Elements: []string{"shop.api.auth"}}).Memory
	r := w.importModel(func(im *memory.ModelImport) {
		im.Model.Elements = slices.DeleteFunc(im.Model.Elements, func(e c4model.Element) bool { return e.Key == "shop.api.auth" })
		im.Bindings = im.Bindings[:2]
	})
	if len(r.Removed) != 1 || r.Removed[0].Memories != 1 || len(r.Warnings) == 0 {
		t.Errorf("the removal reports %+v", r)
	}
	after := w.get(m.Handle)
	if after.Status != memory.Live || len(after.Elements) != 1 || !after.Elements[0].Orphan {
		t.Errorf("the memory is %+v", after)
	}
	w.importModel(nil)
	if after = w.get(m.Handle); after.Elements[0].Orphan {
		t.Error("the element came back, and its memory is still orphaned")
	}
}

// A memory written by path before any binding exists finds its element when a binding later owns the path; an attachment
// that a person took away does not come back.
func TestPathsFindTheirElementLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "widgets are cached", Paths: []string{"widgets/cache.go"}}).Memory
	if len(m.Elements) != 0 {
		t.Fatalf("attached to %v before a binding exists", keysOf(m))
	}
	bind := func(im *memory.ModelImport) {
		im.Bindings = append(im.Bindings, c4model.Binding{Element: "shop.web", Pattern: "widgets", Source: "stele.yaml"})
	}
	if r := w.importModel(bind); r.Attached != 1 {
		t.Errorf("attached %d memories", r.Attached)
	}
	after := w.get(m.Handle)
	if !slices.Equal(keysOf(after), []string{"shop.web"}) || after.Elements[0].Reason != "by widgets/cache.go" {
		t.Errorf("attached to %+v", after.Elements)
	}
	none := []string{}
	_, err := w.Edit(ctx, w.c, memory.EditRequest{Memory: m.Handle, Elements: &none})
	w.must(err)
	w.importModel(bind)
	if after = w.get(m.Handle); len(after.Elements) != 0 {
		t.Errorf("the attachment a person removed came back: %v", keysOf(after))
	}
}

func TestImportIsNeverHalf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	for name, change := range map[string]func(*memory.ModelImport){
		"no element":      func(im *memory.ModelImport) { im.Model.Elements, im.Model.Relationships = nil, nil },
		"unknown end":     func(im *memory.ModelImport) { im.Model.Relationships[0].Destination = "nowhere" },
		"key twice":       func(im *memory.ModelImport) { im.Model.Elements[3].Key = "SHOP.web" },
		"missing parent":  func(im *memory.ModelImport) { im.Model.Elements[2].Parent = "mall" },
		"unknown level":   func(im *memory.ModelImport) { im.Model.Elements[2].Level = "box" },
		"nameless":        func(im *memory.ModelImport) { im.Model.Elements[2].Name = "" },
		"child on a leaf": func(im *memory.ModelImport) { im.Model.Elements[4].Level = c4model.System },
	} {
		im := shopModel()
		change(&im)
		_, err := w.ImportModel(ctx, w.c, im)
		if !problem.Is(err, problem.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := w.Model(ctx, w.c)
	w.must(err)
	if len(v.Elements) != 6 || len(v.Relationships) != 1 || len(v.Bindings) != 3 || len(v.Decisions) != 1 || v.Source != "workspace.dsl" {
		t.Errorf("after refused imports the model is %+v", v)
	}
	dry := shopModel()
	dry.DryRun = true
	dry.Model.Elements = append(dry.Model.Elements, c4model.Element{Key: "depot", Name: "Depot", Level: c4model.System})
	r, err := w.ImportModel(ctx, w.c, dry)
	w.must(err)
	if !slices.Equal(r.Added, []string{"depot"}) {
		t.Errorf("the dry run reports %+v", r)
	}
	if v, err = w.Model(ctx, w.c); err != nil || len(v.Elements) != 6 {
		t.Errorf("the dry run changed the model: %d elements, %v", len(v.Elements), err)
	}
}

func TestImportDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	r, err := w.ImportDecisions(ctx, w.c, []c4model.Decision{{ID: "1", Title: "Use Go"}, {ID: "2", Title: "Use queues"}}, "docs/adr")
	w.must(err)
	if !slices.Equal(r.Added, []string{"ADR-1", "ADR-2"}) {
		t.Errorf("first: %+v", r)
	}
	r, err = w.ImportDecisions(ctx, w.c, []c4model.Decision{{ID: "2", Title: "Use a queue"}}, "docs/adr")
	w.must(err)
	if !slices.Equal(r.Changed, []string{"ADR-2"}) || !slices.Equal(r.Removed, []string{"ADR-1"}) {
		t.Errorf("second: %+v", r)
	}
	v, err := w.Model(ctx, w.c)
	w.must(err)
	if len(v.Decisions) != 2 { // ADR-4 came with the model and stays
		t.Errorf("decisions %+v", v.Decisions)
	}
}
