package memory_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// An organization memory that was written in another project reaches a caller of one project without what that other
// project has to do with it, and cannot be changed by them: it acts in projects they know nothing of.
func TestACallerOfOneProjectAndTheOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	depot, err := w.CreateProject(ctx, w.c, "depot", nil)
	w.must(err)
	there := w.c
	there.Project = depot.ID
	im := shopModel()
	for i := range im.Model.Elements {
		im.Model.Elements[i].Key = strings.ReplaceAll(im.Model.Elements[i].Key, "shop", "vault")
		im.Model.Elements[i].Parent = strings.ReplaceAll(im.Model.Elements[i].Parent, "shop", "vault")
	}
	im.Model.Relationships = nil
	im.Bindings[0].Element, im.Bindings[0].Pattern = "vault.api", "vault/**"
	im.Bindings = im.Bindings[:1]
	_, err = w.ImportModel(ctx, there, im)
	w.must(err)
	m, err := w.Remember(ctx, there, memory.RememberRequest{Content: "Keys are rotated on Mondays.", Scope: memory.Organization, Paths: []string{"vault/customer-x.go"}})
	w.must(err)
	if len(m.Memory.Elements) != 1 {
		t.Fatalf("attached to %+v", m.Memory.Elements)
	}
	_, err = w.Remember(ctx, w.c, memory.RememberRequest{Content: "Keys are in the safe.", Scope: memory.Organization, Elements: []string{"shop.api"}, Paths: []string{"api/a.go"}})
	w.must(err)

	c := w.c
	c.Bound, c.Role, c.User = c.Project, memory.RoleAdmin, "u2"
	for name, ask := range map[string]func() (any, error){
		"recall": func() (any, error) { return w.Recall(ctx, c, memory.RecallRequest{Query: "keys"}) },
		"past": func() (any, error) {
			now := w.now
			return w.Recall(ctx, c, memory.RecallRequest{Query: "keys", AsOf: &now})
		},
		"list":    func() (any, error) { return w.List(ctx, c, memory.ListRequest{}) },
		"get":     func() (any, error) { return w.Get(ctx, c, []string{m.Memory.Handle}) },
		"history": func() (any, error) { return w.History(ctx, c, m.Memory.Handle) },
		"confirm": func() (any, error) {
			return w.Confirm(ctx, c, memory.ConfirmRequest{Memory: m.Memory.Handle, Holds: true})
		},
	} {
		got, err := ask()
		w.must(err)
		text, err := json.Marshal(got)
		w.must(err)
		if !strings.Contains(string(text), m.Memory.Handle) || strings.Contains(string(text), "vault") {
			t.Errorf("%s: %s", name, text)
		}
		if (name == "recall" || name == "list") && !strings.Contains(string(text), "shop.api") {
			t.Errorf("%s leaves out the own project: %s", name, text)
		}
	}
	for name, change := range map[string]func() error{
		"remember": func() error {
			_, err := w.Remember(ctx, c, memory.RememberRequest{Content: "x", Scope: memory.Organization})
			return err
		},
		"retire": func() error {
			_, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: m.Memory.Handle})
			return err
		},
		"erase": func() error {
			_, err := w.Forget(ctx, c, memory.ForgetRequest{Memory: m.Memory.Handle, Erase: true})
			return err
		},
		"edit": func() error {
			_, err := w.Edit(ctx, c, memory.EditRequest{Memory: m.Memory.Handle, Tags: &[]string{"x"}})
			return err
		},
		"restore": func() error { _, err := w.Restore(ctx, c, m.Memory.Handle); return err },
	} {
		if err := change(); !problem.Is(err, problem.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What they may not see is still there.
	if got := w.get(m.Memory.Handle); len(got.Paths) != 1 || len(got.Elements) != 1 {
		t.Errorf("afterwards: %+v", got)
	}
}
