package memory_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// bound gives "pattern source" of an element's bindings.
func (w *world) bound(element string) []string {
	w.t.Helper()
	m, err := w.Model(context.Background(), w.c)
	w.must(err)
	var out []string
	for _, b := range m.Bindings {
		if b.Element == element {
			out = append(out, b.Pattern+" "+b.Source)
		}
	}
	return out
}

// A memory that names a path is attached to the element that the path is bound to from now on, in every space, and what was
// set here stays over an import.
func TestBind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	var handles []string
	for _, scope := range []memory.Scope{memory.Project, memory.Personal, memory.Organization} {
		handles = append(handles, w.remember(memory.RememberRequest{Content: "the till rounds", Scope: scope, Paths: []string{"till/round.go"}}).Memory.Handle)
	}
	out, err := w.Bind(ctx, w.c, memory.BindRequest{Element: "Storefront", Patterns: []string{"./till/", "till/", "web/**"}})
	w.must(err)
	if out.Element != "shop.web" || out.Attached != 3 || len(out.Bindings) != 2 {
		t.Errorf("got %+v", out)
	}
	got, err := w.Get(ctx, w.c, handles)
	w.must(err)
	for _, m := range got {
		if !slices.Equal(keysOf(m), []string{"shop.web"}) {
			t.Errorf("%s of %s is on %v", m.Handle, m.Scope, keysOf(m))
		}
	}
	// What the repository says stays the repository's.
	if got, want := w.bound("shop.web"), []string{"/till/ server", "web/** model"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	w.importModel(func(im *memory.ModelImport) {
		im.Model.Elements[2].Description = "changed"
		im.Bindings = append(im.Bindings, c4model.Binding{Element: "shop.api", Pattern: "queue/**", Source: memory.ServerBinding}) // as `model show` prints it
	})
	if got, want := w.bound("shop.web"), []string{"/till/ server", "web/** model"}; !slices.Equal(got, want) {
		t.Errorf("after an import: got %q, want %q", got, want)
	}
	if got := w.bound("shop.api"); len(got) != 1 {
		t.Errorf("an import set %q", got)
	}
	open, err := w.UncommittedBindings(ctx, w.c)
	w.must(err)
	if len(open) != 1 || open[0].Pattern != "/till/" || open[0].Element != "shop.web" {
		t.Errorf("to be committed: %+v", open)
	}
	// Once stele.yaml says it, it is no longer the server's.
	w.importModel(func(im *memory.ModelImport) {
		im.Bindings = append(im.Bindings, c4model.Binding{Element: "shop.web", Pattern: "/till/", Source: "stele.yaml"})
	})
	if got, want := w.bound("shop.web"), []string{"/till/ stele.yaml", "web/** model"}; !slices.Equal(got, want) {
		t.Errorf("after it was committed: got %q, want %q", got, want)
	}
	if open, err := w.UncommittedBindings(ctx, w.c); err != nil || len(open) != 0 {
		t.Errorf("to be committed: %+v, %v", open, err)
	}
}

// A binding outlives the absence of its element, and memories of paths follow when both are back.
func TestBindOutlivesItsElement(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	_, err := w.Bind(context.Background(), w.c, memory.BindRequest{Element: "shop.api.auth", Patterns: []string{"gate/**"}})
	w.must(err)
	w.importModel(func(im *memory.ModelImport) {
		im.Model.Elements = slices.DeleteFunc(im.Model.Elements, func(e c4model.Element) bool { return e.Key == "shop.api.auth" })
		im.Bindings = im.Bindings[:2]
	})
	m := w.remember(memory.RememberRequest{Content: "the gate is slow", Paths: []string{"gate/a.go"}}).Memory
	if len(m.Elements) != 0 {
		t.Errorf("attached to %v, which left", keysOf(m))
	}
	w.importModel(nil)
	if got, want := w.bound("shop.api.auth"), []string{"api/auth/** model", "gate/** server"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := w.Get(context.Background(), w.c, []string{m.Handle}); err != nil || !slices.Equal(keysOf(got[0]), []string{"shop.api.auth"}) {
		t.Errorf("it is on %v, %v", keysOf(got[0]), err)
	}
}

// Setting again replaces what was set here, and nothing takes it back.
func TestBindAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, step := range []struct{ patterns, want []string }{
		{[]string{"a/**", "b/**"}, []string{"a/** server", "api/** model", "b/** server"}},
		{[]string{"b/**"}, []string{"api/** model", "b/** server"}},
		{nil, []string{"api/** model"}},
	} {
		out, err := w.Bind(context.Background(), w.c, memory.BindRequest{Element: "shop.api", Patterns: step.patterns})
		w.must(err)
		if got := w.bound("shop.api"); !slices.Equal(got, step.want) || len(out.Bindings) != len(step.want) {
			t.Errorf("%v: got %q, want %q", step.patterns, got, step.want)
		}
	}
}

func TestBindRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for name, test := range map[string]struct {
		r    memory.BindRequest
		role memory.Role
		code problem.Code
	}{
		"an agent":        {memory.BindRequest{Element: "shop.api", Patterns: []string{"a"}}, memory.RoleAgent, problem.Forbidden},
		"no such element": {memory.BindRequest{Element: "shop.till", Patterns: []string{"a"}}, memory.RoleReviewer, problem.NotFound},
		"two of the name": {memory.BindRequest{Element: "Auth", Patterns: []string{"a"}}, memory.RoleReviewer, problem.Ambiguous},
		"a person":        {memory.BindRequest{Element: "customer", Patterns: []string{"a"}}, memory.RoleReviewer, problem.Invalid},
		"a way out":       {memory.BindRequest{Element: "shop.api", Patterns: []string{"../a"}}, memory.RoleReviewer, problem.Invalid},
		"no glob":         {memory.BindRequest{Element: "shop.api", Patterns: []string{"a["}}, memory.RoleReviewer, problem.Invalid},
		"too many":        {memory.BindRequest{Element: "shop.api", Patterns: make([]string, 201)}, memory.RoleReviewer, problem.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := w.c
			c.Role = test.role
			if _, err := w.Bind(context.Background(), c, test.r); !problem.Is(err, test.code) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if got := w.bound("shop.api"); !slices.Equal(got, []string{"api/** model"}) {
			t.Errorf("after refusals: %q", got)
		}
	})
}
