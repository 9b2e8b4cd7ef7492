package memory_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// A project that does without the organization's memories is told none of them, by whatever question; names that somebody
// has already still lead to them, lists show them, and other projects are told as before.
func TestProjectWithoutOrganization(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	own := w.remember(memory.RememberRequest{Content: "lanterns burn whale oil, see [[Oil of the guild]]", Elements: []string{"shop.api"}, Paths: []string{"api/lamp.go"}}).Memory
	mine := w.remember(memory.RememberRequest{Content: "lanterns smoke", Scope: memory.Personal, Elements: []string{"shop.api"}}).Memory
	shared := w.remember(memory.RememberRequest{Title: "Oil of the guild", Content: "lanterns of every house burn seed oil", Scope: memory.Organization,
		Elements: []string{"shop.api"}, Paths: []string{"api/lamp.go"}}).Memory
	other := w.c
	p, err := w.CreateProject(ctx, w.c, "other", nil)
	w.must(err)
	other.Project = p.ID

	var from []string // handles that a question brings
	recall := func(r memory.RecallRequest) func(memory.Caller) error {
		return func(c memory.Caller) error {
			out, err := w.Recall(ctx, c, r)
			from = entries(out)
			return err
		}
	}
	for _, q := range []struct {
		name   string
		always bool // it shows the organization's in any case
		ask    func(memory.Caller) error
	}{
		{"recall by words", false, recall(memory.RecallRequest{Query: "lanterns"})},
		{"recall by element", false, recall(memory.RecallRequest{Element: "shop.api"})},
		{"recall by path", false, recall(memory.RecallRequest{Paths: []string{"api/lamp.go"}})},
		{"recall with a further project", false, recall(memory.RecallRequest{Query: "lanterns", Projects: []string{"other"}})},
		{"recall and what its results link to", false, recall(memory.RecallRequest{Query: "whale"})},
		{"context", false, func(c memory.Caller) error {
			out, err := w.Context(ctx, c, memory.ContextRequest{Task: "lanterns"})
			for _, e := range out.Elements {
				for _, m := range e.Memories {
					from = append(from, m.Handle)
				}
			}
			return err
		}},
		{"why", false, func(c memory.Caller) error {
			out, err := w.Why(ctx, c, "api/lamp.go", 0)
			for _, e := range out.Entries {
				from = append(from, e.Memory.Handle)
			}
			return err
		}},
		{"list", true, func(c memory.Caller) error {
			out, err := w.List(ctx, c, memory.ListRequest{})
			for _, m := range out.Memories {
				from = append(from, m.Handle)
			}
			return err
		}},
		{"title", true, func(c memory.Caller) error {
			out, err := w.Get(ctx, c, []string{shared.Title})
			for _, m := range out {
				from = append(from, m.Handle)
			}
			return err
		}},
	} {
		for _, without := range []bool{false, true, false} {
			info, err := w.ChangeProjectSettings(ctx, w.c, memory.ProjectSettingsChange{WithoutOrganization: &without})
			w.must(err)
			if again, err := w.FindProject(ctx, w.c, "shop"); err != nil || info.WithoutOrganization != without || again.WithoutOrganization != without {
				t.Fatalf("after setting %v the project says %+v, then %+v (%v)", without, info, again, err)
			}
			from = nil
			w.must(q.ask(w.c))
			if got, want := slices.Contains(from, shared.Handle), q.always || !without; got != want {
				t.Errorf("%s, without the organization %v: its memory came back %v in %v", q.name, without, got, from)
			}
			if !q.always && !slices.Contains(from, own.Handle) {
				t.Errorf("%s, without the organization %v: the project's own is missing in %v", q.name, without, from)
			}
		}
	}
	without := true
	_, err = w.ChangeProjectSettings(ctx, w.c, memory.ProjectSettingsChange{WithoutOrganization: &without})
	w.must(err)
	if got := w.ask("lanterns"); !slices.Contains(got, mine.Handle) {
		t.Errorf("the personal memory is missing in %v", got)
	}
	if out, err := w.Recall(ctx, other, memory.RecallRequest{Query: "lanterns"}); err != nil || !slices.Contains(entries(out), shared.Handle) {
		t.Errorf("another project is told %v, %v", entries(out), err)
	}
	for _, role := range []memory.Role{memory.RoleAgent, memory.RoleCI} {
		c := w.c
		c.Role = role
		if _, err := w.ChangeProjectSettings(ctx, c, memory.ProjectSettingsChange{WithoutOrganization: &without}); !problem.Is(err, problem.Forbidden) {
			t.Errorf("the role %s changes the settings: %v", role, err)
		}
	}
	trail, err := w.AuditLog(ctx, w.c, memory.AuditRequest{})
	w.must(err)
	n := 0
	for _, l := range trail.Lines {
		if l.Verb == memory.VerbSetProject && l.Subject == w.c.Project {
			n++
		}
	}
	if n == 0 {
		t.Error("the trail does not say who changed the settings")
	}
}
