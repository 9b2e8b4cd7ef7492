package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/embedding"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// Everything that can be read, asked by someone of another project and by another user of the same one: nothing of a
// project is known in another, nothing personal to another user, by whatever reference.
func TestReadsKnowTheirBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	const word, own = "zanzibarite", "quokkasaurus"
	here := w.remember(memory.RememberRequest{Content: word + " is mined here", Title: "Mine " + word, Elements: []string{"shop.api"}, Paths: []string{"api/" + word + ".go"}, Tags: []string{word}}).Memory
	mine := w.remember(memory.RememberRequest{Content: own + " see [[Mine " + word + "]]", Title: "Own " + own, Scope: memory.Personal, Elements: []string{"shop.api"}, Paths: []string{"api/" + own + ".go"}, Tags: []string{own}}).Memory
	p, err := w.CreateProject(ctx, w.c, "warehouse", nil)
	w.must(err)
	abroad, colleague := w.c, w.c
	abroad.Project, abroad.User = p.ID, "u3"
	colleague.User = "u2"
	for name, tc := range map[string]struct {
		c      memory.Caller
		secret memory.Memory
		words  []string
	}{
		"another project": {abroad, here, []string{word, own}},
		"another user":    {colleague, mine, []string{own}},
	} {
		for _, ref := range []string{tc.secret.Handle, tc.secret.ID.String(), tc.secret.Title} {
			asked := map[string]func() error{
				"get": func() error {
					c := tc.c
					c.Bound = c.Project // who is bound to no project may open it; see below
					_, err := w.Get(ctx, c, []string{ref})
					return err
				},
				"history":  func() error { _, err := w.History(ctx, tc.c, ref); return err },
				"timeline": func() error { _, err := w.Timeline(ctx, tc.c, ref, 0); return err },
				"confirm": func() error {
					_, err := w.Confirm(ctx, tc.c, memory.ConfirmRequest{Memory: ref, Holds: true})
					return err
				},
				"edit": func() error {
					_, err := w.Edit(ctx, tc.c, memory.EditRequest{Memory: ref, Tags: &[]string{}})
					return err
				},
				"forget": func() error {
					_, err := w.Forget(ctx, tc.c, memory.ForgetRequest{Memory: ref, Erase: true})
					return err
				},
				"restore": func() error { _, err := w.Restore(ctx, tc.c, ref); return err },
				"supersede": func() error {
					_, err := w.Remember(ctx, tc.c, memory.RememberRequest{Content: "x", Supersedes: ref})
					return err
				},
			}
			for verb, ask := range asked {
				if err := ask(); !problem.Is(err, problem.NotFound) {
					t.Errorf("%s: %s %s: %v", name, verb, ref, err)
				}
			}
		}
		answers := map[string]func() (any, error){
			"recall": func() (any, error) {
				return w.Recall(ctx, tc.c, memory.RecallRequest{Query: strings.Join(tc.words, " "), Explain: true})
			},
			"browse":         func() (any, error) { return w.Recall(ctx, tc.c, memory.RecallRequest{}) },
			"recall by tag":  func() (any, error) { return w.Recall(ctx, tc.c, memory.RecallRequest{Tags: tc.words[:1]}) },
			"recall by path": func() (any, error) { return w.Recall(ctx, tc.c, memory.RecallRequest{Paths: []string{"api/x.go"}}) },
			"past": func() (any, error) {
				now := w.now
				return w.Recall(ctx, tc.c, memory.RecallRequest{Query: tc.words[0], AsOf: &now})
			},
			"list": func() (any, error) { return w.List(ctx, tc.c, memory.ListRequest{Status: "all"}) },
			"why":  func() (any, error) { return w.Why(ctx, tc.c, "api/"+tc.words[0]+".go", 0) },
			"context": func() (any, error) {
				return w.Context(ctx, tc.c, memory.ContextRequest{Task: strings.Join(tc.words, " ")})
			},
			"map": func() (any, error) { return w.Map(ctx, tc.c) },
		}
		for verb, ask := range answers {
			got, err := ask()
			w.must(err)
			text, err := json.Marshal(got)
			w.must(err)
			if strings.Contains(string(text), tc.secret.Handle) {
				t.Errorf("%s: %s names the memory: %s", name, verb, text)
			}
			said := strings.ReplaceAll(string(text), `"path":"api/`+tc.words[0]+`.go"`, "") // the question itself
			if strings.Contains(said, tc.words[len(tc.words)-1]) || (name == "another project" && strings.Contains(said, word)) {
				t.Errorf("%s: %s says what it must not: %s", name, verb, text)
			}
		}
		own, err := w.Remember(ctx, tc.c, memory.RememberRequest{Content: tc.secret.Content, Title: tc.secret.Title, Scope: memory.Personal})
		w.must(err)
		if own.Deduplicated || len(own.SimilarTo) != 0 {
			t.Errorf("%s: the same words meet the memory: %+v", name, own)
		}
	}
	// Who may look at every project opens by its handle what a widened recall named, and nothing of another user.
	ms, err := w.Get(ctx, abroad, []string{here.Handle})
	w.must(err)
	if len(ms) != 1 || ms[0].ID != here.ID {
		t.Errorf("opened %+v", ms)
	}
	_, err = w.Get(ctx, abroad, []string{mine.Handle})
	wants(t, err, problem.NotFound)

	// A link somebody wrote to their own memory leads nowhere for others.
	m := w.remember(memory.RememberRequest{Content: "see [[" + mine.Handle + "]]", Elements: []string{"shop.web"}}).Memory
	ms, err = w.Get(ctx, colleague, []string{m.Handle})
	w.must(err)
	if m.Links[0].Target != mine.Handle || ms[0].Links[0].Target != "" {
		t.Errorf("the link leads the author to %+v and a colleague to %+v", m.Links, ms[0].Links)
	}
}

func TestCallersThatMayNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "orders are immutable", Scope: memory.Organization, Elements: []string{"shop.api"}}).Memory
	ci, long, control := w.c, w.c, w.c
	ci.Role = memory.RoleCI
	long.Session, control.Session = strings.Repeat("s", 20_000), "s\x00"
	for name, tc := range map[string]struct {
		c    memory.Caller
		code problem.Code
	}{"ci": {ci, problem.Forbidden}, "long session": {long, problem.Invalid}, "control character": {control, problem.Invalid}} {
		_, err := w.Remember(ctx, tc.c, memory.RememberRequest{Content: "x"})
		wants(t, err, tc.code)
		_, err = w.Confirm(ctx, tc.c, memory.ConfirmRequest{Memory: m.Handle, Holds: true})
		wants(t, err, tc.code)
		_, err = w.Get(ctx, tc.c, []string{m.Handle})
		wants(t, err, tc.code)
		if _, err = w.Recall(ctx, tc.c, memory.RecallRequest{Query: "orders"}); !problem.Is(err, tc.code) {
			t.Errorf("%s recalls: %v", name, err)
		}
	}
	agent := w.c
	agent.User, agent.Role = "u2", memory.RoleAgent
	_, err := w.Edit(ctx, agent, memory.EditRequest{Memory: m.Handle, Elements: &[]string{}})
	wants(t, err, problem.Forbidden, "reviewer")
	p := w.remember(memory.RememberRequest{Content: "carts live an hour"}).Memory
	soon := "1h"
	_, err = w.Edit(ctx, agent, memory.EditRequest{Memory: p.Handle, Expires: &soon})
	wants(t, err, problem.Forbidden, "expires")
	if _, err = w.Edit(ctx, agent, memory.EditRequest{Memory: p.Handle, Elements: &[]string{"shop.web"}}); err != nil {
		t.Errorf("attaching another's project memory: %v", err)
	}
}

func TestHostileTextsAreNoFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "see [[a\x00b]] and [[c\x01d]]", Scope: memory.Personal}).Memory
	if strings.Contains(m.Content, "\x00") {
		t.Error("a NUL was stored")
	}
	if _, err := w.List(ctx, w.c, memory.ListRequest{}); err != nil {
		t.Errorf("list: %v", err)
	}
	for name, ask := range map[string]func() error{
		"element": func() error { _, err := w.Recall(ctx, w.c, memory.RecallRequest{Element: "a\x00b"}); return err },
		"author":  func() error { _, err := w.List(ctx, w.c, memory.ListRequest{Author: "a\x00b"}); return err },
		"braces": func() error {
			_, err := w.Remember(ctx, w.c, memory.RememberRequest{Content: "x", Paths: []string{strings.Repeat("{a,a}", 26) + "b"}})
			return err
		},
		"description": func() error {
			im := shopModel()
			im.Model.Elements[1].Description = "a\x00b"
			_, err := w.ImportModel(ctx, w.c, im)
			return err
		},
		"long key": func() error {
			im := shopModel()
			im.Model.Elements[1].Name = strings.Repeat(fmt.Sprint(w.now.UnixNano()), 1000)
			_, err := w.ImportModel(ctx, w.c, im)
			return err
		},
	} {
		if err := ask(); err != nil && !problem.Is(err, problem.Invalid) && !problem.Is(err, problem.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	escaped := w.remember(memory.RememberRequest{Content: "a literal bracket", Paths: []string{`web/a\[b.ts`}}).Memory
	if !slices.Equal(escaped.Paths, []string{`web/a\[b.ts`}) {
		t.Errorf("paths %q", escaped.Paths)
	}
}

func TestImportDoesNotCountWhatOthersKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	other := w.c
	other.User = "u2"
	_, err := w.Remember(context.Background(), other, memory.RememberRequest{Content: "my own note", Scope: memory.Personal, Elements: []string{"shop.api.auth"}, Paths: []string{"later/x.go"}})
	w.must(err)
	r := w.importModel(func(im *memory.ModelImport) {
		im.Model.Elements = slices.DeleteFunc(im.Model.Elements, func(e c4model.Element) bool { return e.Key == "shop.api.auth" })
		im.Bindings = []c4model.Binding{{Element: "shop.web", Pattern: "later/**", Source: "model"}}
	})
	if r.Removed[0].Memories != 0 || r.Attached != 0 || len(r.Warnings) != 0 {
		t.Errorf("another user's personal memory shows in the report: %+v", r)
	}
}

func TestDecisionsLeaveWithTheirModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.importModel(func(im *memory.ModelImport) { im.Model.Decisions = nil })
	if v, err := w.Model(context.Background(), w.c); err != nil || len(v.Decisions) != 0 {
		t.Errorf("decisions %+v, %v", v.Decisions, err)
	}
}

// A former key goes before another element's display name.
func TestFormerKeyBeforeName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.importModel(func(im *memory.ModelImport) {
		im.Model.Elements[0].Name = "shop.web" // somebody is called like the old key
		for i := range im.Model.Elements {
			e := &im.Model.Elements[i]
			e.Parent = strings.ReplaceAll(e.Parent, "shop.web", "shop.front")
			e.Key = strings.ReplaceAll(e.Key, "shop.web", "shop.front")
		}
		im.Model.Relationships[0].Source = "shop.front"
		im.Bindings[0].Element = "shop.front"
	})
	m := w.remember(memory.RememberRequest{Content: "by the old key", Elements: []string{"shop.web"}}).Memory
	if keys := keysOf(m); !slices.Equal(keys, []string{"shop.front"}) {
		t.Errorf("the former key leads to %v", keys)
	}
}

func TestLongChainLeadsToTheLiveOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	first := w.remember(memory.RememberRequest{Content: "limit is 0"}).Memory
	last := first
	for i := range 40 {
		last = w.remember(memory.RememberRequest{Content: fmt.Sprintf("limit is %d", i+1), Supersedes: last.Handle}).Memory
	}
	_, err := w.Confirm(context.Background(), w.c, memory.ConfirmRequest{Memory: first.Handle, Holds: true})
	wants(t, err, problem.Conflict, last.Handle)
}

// Every write leaves an entry in the trail, also those that happen by themselves.
func TestTrailHasEveryWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	m := w.remember(memory.RememberRequest{Content: "parcels are weighed", Paths: []string{"depot/scale.go"}, Seen: &memory.Seen{Commit: "abc", Branch: "feature/secret"}}).Memory
	w.importModel(func(im *memory.ModelImport) {
		im.Bindings = append(im.Bindings, c4model.Binding{Element: "shop.web", Pattern: "depot/**", Source: "model"})
	})
	c := w.c
	c.Door = memory.FromImport
	_, err := w.Remember(ctx, c, memory.RememberRequest{Content: "parcels are weighed", Title: "Weighing", Imported: &memory.Imported{Key: "n:1", CreatedAt: w.now.Add(time.Hour), User: "u9"}})
	w.must(err)
	h, err := w.History(ctx, w.c, m.Handle)
	w.must(err)
	var verbs []string
	for _, e := range h.Events {
		verbs = append(verbs, e.Verb)
		if strings.Contains(e.Detail, "secret") {
			t.Errorf("the trail quotes a branch name: %+v", e)
		}
	}
	if want := []string{"remember", "attach", "edit"}; !slices.Equal(verbs, want) {
		t.Errorf("events %v, want %v", verbs, want)
	}
	if len(h.Versions) != h.Memory.Revision {
		t.Errorf("%d versions for revision %d", len(h.Versions), h.Memory.Revision)
	}
}

// nothing is a provider whose answers have no direction.
type nothing struct{ embedding.None }

func (nothing) Model() string { return "nothing-1" }

func (nothing) Embed(_ context.Context, texts []string) ([]embedding.Vector, error) {
	out := make([]embedding.Vector, len(texts))
	for i := range out {
		out[i] = make(embedding.Vector, 8)
	}
	return out, nil
}

func TestVectorWithoutDirectionIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nothing{})
	w.remember(memory.RememberRequest{Content: "lamps are dimmed at night"})
	out := w.remember(memory.RememberRequest{Content: "lamps are dimmed at night mostly"})
	if _, err := json.Marshal(out); err != nil {
		t.Error(err)
	}
	found, err := w.Recall(context.Background(), w.c, memory.RecallRequest{Query: "dimmed lamps", Explain: true})
	w.must(err)
	if len(found.Results) != 2 {
		t.Errorf("found %d by words", len(found.Results))
	}
}
