package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// A run of a proposal is told which pitfalls are known about the files it changes, and nothing of what they say: not what is
// personal, not of other projects, not what is over.
func TestRunIsToldPitfalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	trap := func(r memory.RememberRequest) string {
		t.Helper()
		r.Kind = memory.Pitfall
		return w.remember(r).Memory.Handle
	}
	first := trap(memory.RememberRequest{Content: "Orders arrive twice.", Elements: []string{"shop.api"}})
	named := trap(memory.RememberRequest{Content: "Never rename this file.", Paths: []string{"deploy/run.sh"}})
	trap(memory.RememberRequest{Content: "I forget the lock here.", Elements: []string{"shop.api"}, Scope: memory.Personal})
	trap(memory.RememberRequest{Content: "All our services time out at noon.", Scope: memory.Organization})
	w.remember(memory.RememberRequest{Kind: memory.Note, Content: "The API speaks JSON.", Elements: []string{"shop.api"}})
	over := trap(memory.RememberRequest{Content: "Commas break the till.", Elements: []string{"shop.api"}})
	w.remember(memory.RememberRequest{Supersedes: over, Kind: memory.Note, Content: "Commas are fine now.", Elements: []string{"shop.api"}})
	other, err := w.CreateProject(ctx, w.c, "other", nil)
	w.must(err)
	elsewhere := w.c
	elsewhere.Project = other.ID
	_, err = w.Remember(ctx, elsewhere, memory.RememberRequest{Kind: memory.Pitfall, Content: "Another deployment.", Paths: []string{"deploy/run.sh"}})
	w.must(err)

	ask := func(changed ...string) []memory.KnownPitfall {
		t.Helper()
		a, err := w.push(1, func(p *memory.RunPush) { p.Tracked, p.Changed = false, changed })
		w.must(err)
		return a.Pitfalls
	}
	if got := ask(); got == nil || len(got) != 0 {
		t.Errorf("nothing changed: %+v", got)
	}
	if got := ask("docs/other.md"); len(got) != 0 {
		t.Errorf("nothing is known about it: %+v", got)
	}
	api := memory.KnownPitfall{Handle: first, Kind: memory.Pitfall, Element: "shop.api"}
	if got := ask("api/main.go"); !slices.Equal(got, []memory.KnownPitfall{api}) {
		t.Errorf("of an element: %+v", got)
	}
	if got := ask("deploy/run.sh"); !slices.Equal(got, []memory.KnownPitfall{{Handle: named, Kind: memory.Pitfall}}) {
		t.Errorf("of a file: %+v", got)
	}

	// A token of one project is told of that project, and of no other.
	bound := w.c
	bound.Role, bound.Bound, bound.Project = memory.RoleCI, other.ID, other.ID
	push := func(c memory.Caller) (memory.RunAnswer, error) {
		score := 100
		p := memory.RunPush{Repository: "example.org/other", Ancestors: chain(1), Changed: []string{"api/main.go", "deploy/run.sh"}}
		p.Report.Status, p.Report.Score, p.Report.Commit, p.Report.InputHash = "checked", &score, commit(1), "x"
		return w.PushRun(ctx, c, p)
	}
	a, err := push(bound)
	w.must(err)
	if len(a.Pitfalls) != 1 || a.Pitfalls[0].Handle == named {
		t.Errorf("of the other project: %+v", a.Pitfalls)
	}
	bound.Project = w.c.Project
	if a, err := push(bound); err == nil {
		t.Errorf("a project that the token is not for: %+v", a)
	}

	// There is room for twenty, the best first.
	for n := range 25 {
		trap(memory.RememberRequest{Content: fmt.Sprintf("The till breaks in way number %d.", n), Elements: []string{"shop.api"}})
	}
	if got := ask("api/main.go"); len(got) != 20 {
		t.Errorf("%d are told", len(got))
	}
	_, err = w.push(1, func(p *memory.RunPush) { p.Changed = make([]string, memory.MaxChanged+1) })
	wants(t, err, problem.Invalid, "changed", "1000")
	_, err = w.push(1, func(p *memory.RunPush) { p.Changed = []string{"../up"} })
	wants(t, err, problem.Invalid, "changed")
}
