package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/redact"
	"github.com/stele-dev/stele/memory"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	made, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: " robot ", Expires: "2d"})
	w.must(err)
	if made.Name != "robot" || made.Role != memory.RoleAgent || made.CreatedBy != "u1" || !strings.HasPrefix(made.Text, memory.TokenPrefix) {
		t.Errorf("made %+v", made)
	}
	c, tok, err := w.Authenticate(ctx, made.Text)
	w.must(err)
	if c.Org != w.c.Org || c.User != "robot" || c.Role != memory.RoleAgent || c.Bound != uuid.Nil || c.Project != uuid.Nil || tok.ID != made.ID {
		t.Errorf("the token speaks for %+v", c)
	}

	for name, text := range map[string]string{
		"empty": "", "no prefix": strings.TrimPrefix(made.Text, memory.TokenPrefix), "cut": made.Text[:len(made.Text)-1],
		"longer": made.Text + "a", "upper case": strings.ToUpper(made.Text), "mistyped": swapLast(made.Text),
		"nul": made.Text + "\x00", "huge": memory.TokenPrefix + strings.Repeat("a", 1<<20),
	} {
		if _, _, err := w.Authenticate(ctx, text); !problem.Is(err, problem.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Used once a minute, so that a busy token does not write with every request.
	used := func() *time.Time {
		all, err := w.Tokens(ctx, w.c)
		w.must(err)
		return all[0].UsedAt
	}
	first := used()
	if first == nil || !first.Equal(w.now) {
		t.Errorf("used at %v, want %v", first, w.now)
	}
	w.now = w.now.Add(59 * time.Second)
	_, _, err = w.Authenticate(ctx, made.Text)
	w.must(err)
	if got := used(); !got.Equal(*first) {
		t.Errorf("used at %v within the minute of %v", got, first)
	}
	w.now = w.now.Add(time.Second)
	_, _, err = w.Authenticate(ctx, made.Text)
	w.must(err)
	if got := used(); !got.Equal(w.now) {
		t.Errorf("used at %v, want %v", got, w.now)
	}

	w.now = made.ExpiresAt.Add(-time.Microsecond)
	_, _, err = w.Authenticate(ctx, made.Text)
	w.must(err)
	w.now = *made.ExpiresAt
	if _, _, err := w.Authenticate(ctx, made.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("an expired token: %v", err)
	}
}

func swapLast(s string) string {
	last := byte('a')
	if s[len(s)-1] == last {
		last = 'b'
	}
	return s[:len(s)-1] + string(last)
}

func TestRevokedTokensAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	made, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "robot"})
	w.must(err)
	_, err = w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "Robot"})
	wants(t, err, problem.Conflict, "Robot", "revoke")

	revoked, err := w.RevokeToken(ctx, w.c, "ROBOT")
	w.must(err)
	if revoked.RevokedAt == nil {
		t.Error("it does not say when it was revoked")
	}
	other := memory.New(w.h.store, memory.Options{Now: func() time.Time { return w.now }}) // another server
	if _, _, err := other.Authenticate(ctx, made.Text); !problem.Is(err, problem.Unauthenticated) {
		t.Errorf("a revoked token: %v", err)
	}
	again, err := w.RevokeToken(ctx, w.c, made.ID.String())
	w.must(err)
	if !again.RevokedAt.Equal(*revoked.RevokedAt) {
		t.Error("revoking twice moved the moment")
	}
	_, err = w.RevokeToken(ctx, w.c, "nobody")
	wants(t, err, problem.NotFound, "nobody")
	same, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "robot"}) // the name is free again
	w.must(err)
	if len(made.Warnings) != 0 || len(same.Warnings) != 1 {
		t.Errorf("warned %q, then %q", made.Warnings, same.Warnings)
	}
}

func TestWhoMayMakeTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	as := func(role memory.Role, bound uuid.UUID) memory.Caller {
		c := w.c
		c.Role, c.Bound = role, bound
		return c
	}
	for _, c := range []memory.Caller{as(memory.RoleAgent, uuid.Nil), as(memory.RoleCI, uuid.Nil), as(memory.RoleReviewer, uuid.Nil), as(memory.RoleAdmin, w.c.Project), as("", uuid.Nil)} {
		_, err := w.CreateToken(ctx, c, memory.TokenRequest{Name: "robot"})
		wants(t, err, problem.Forbidden)
		_, err = w.Tokens(ctx, c)
		wants(t, err, problem.Forbidden)
		_, err = w.RevokeToken(ctx, c, "robot")
		wants(t, err, problem.Forbidden)
		_, err = w.AuditLog(ctx, c, memory.AuditRequest{})
		wants(t, err, problem.Forbidden)
	}
	for name, r := range map[string]memory.TokenRequest{
		"name":            {Name: "  "},
		"slash":           {Name: "a/b"},
		"control":         {Name: "a\x1bb"},
		"role":            {Name: "x", Role: "owner"},
		"expires":         {Name: "x", Expires: "yesterday"},
		"past":            {Name: "x", Expires: "2001-01-01"},
		"create projects": {Name: "x", CreateProjects: true},
	} {
		if _, err := w.CreateToken(ctx, w.c, r); !problem.Is(err, problem.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "x", Project: "nowhere"})
	wants(t, err, problem.NotFound, "nowhere", "shop")
}

// A token for one project knows of no other, whatever the door asks for it.
func TestATokenOfOneProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	depot, err := w.CreateProject(ctx, w.c, "depot", []string{"remote:example.org/depot"})
	w.must(err)
	made, err := w.CreateToken(ctx, w.c, memory.TokenRequest{Name: "robot", Role: memory.RoleReviewer, Project: "shop"})
	w.must(err)
	c, _, err := w.Authenticate(ctx, made.Text)
	w.must(err)
	if c.Project != w.c.Project || c.Bound != w.c.Project {
		t.Fatalf("bound to %s, in %s", c.Bound, c.Project)
	}
	ps, err := w.Projects(ctx, c)
	w.must(err)
	if len(ps) != 1 || ps[0].Name != "shop" {
		t.Errorf("it sees the projects %+v", ps)
	}
	for _, ref := range []string{"depot", depot.ID.String(), "remote:example.org/depot"} {
		_, err = w.FindProject(ctx, c, ref)
		wants(t, err, problem.NotFound)
		if strings.Contains(strings.Join(mustProblem(t, err).Fixes, " "), "depot") {
			t.Errorf("the error tells of another project: %v", err)
		}
		_, err = w.Recall(ctx, c, memory.RecallRequest{Query: "x", Projects: []string{ref}})
		wants(t, err, problem.NotFound)
	}
	_, err = w.CreateProject(ctx, c, "yard", nil)
	wants(t, err, problem.Forbidden)
	wants(t, w.AddIdentities(ctx, c, c.Project, []string{"remote:example.org/yard"}), problem.Forbidden)

	c.Project = depot.ID // a door that forgot to ask
	for name, call := range everyQuestion(w.Service, c) {
		if err := call(ctx); !problem.Is(err, problem.NotFound) {
			t.Errorf("%s in another project: %v", name, err)
		}
	}
}

func mustProblem(t *testing.T, err error) *problem.Error {
	t.Helper()
	p, ok := problem.As(err)
	if !ok {
		t.Fatalf("%v is no problem", err)
	}
	return p
}

// everyQuestion is every call that reads or writes memories or the model.
func everyQuestion(s *memory.Service, c memory.Caller) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"remember": func(ctx context.Context) error {
			_, err := s.Remember(ctx, c, memory.RememberRequest{Content: "x"})
			return err
		},
		"recall": func(ctx context.Context) error {
			_, err := s.Recall(ctx, c, memory.RecallRequest{Query: "x"})
			return err
		},
		"confirm": func(ctx context.Context) error {
			_, err := s.Confirm(ctx, c, memory.ConfirmRequest{Memory: "m-aaaaaaa", Holds: true})
			return err
		},
		"edit": func(ctx context.Context) error { _, err := s.Edit(ctx, c, memory.EditRequest{Memory: "x"}); return err },
		"forget": func(ctx context.Context) error {
			_, err := s.Forget(ctx, c, memory.ForgetRequest{Memory: "x"})
			return err
		},
		"restore":  func(ctx context.Context) error { _, err := s.Restore(ctx, c, "x"); return err },
		"get":      func(ctx context.Context) error { _, err := s.Get(ctx, c, []string{"x"}); return err },
		"list":     func(ctx context.Context) error { _, err := s.List(ctx, c, memory.ListRequest{}); return err },
		"timeline": func(ctx context.Context) error { _, err := s.Timeline(ctx, c, "x", 1); return err },
		"history":  func(ctx context.Context) error { _, err := s.History(ctx, c, "x"); return err },
		"context": func(ctx context.Context) error {
			_, err := s.Context(ctx, c, memory.ContextRequest{Task: "x"})
			return err
		},
		"why":   func(ctx context.Context) error { _, err := s.Why(ctx, c, "a.go", 0); return err },
		"map":   func(ctx context.Context) error { _, err := s.Map(ctx, c); return err },
		"model": func(ctx context.Context) error { _, err := s.Model(ctx, c); return err },
		"import model": func(ctx context.Context) error {
			_, err := s.ImportModel(ctx, c, shopModel())
			return err
		},
		"check model": func(ctx context.Context) error {
			im := shopModel()
			im.DryRun = true
			_, err := s.ImportModel(ctx, c, im)
			return err
		},
		"import decisions": func(ctx context.Context) error { _, err := s.ImportDecisions(ctx, c, nil, "docs"); return err },
		"events":           func(ctx context.Context) error { _, err := s.Events(ctx, c, "", 1); return err },
		"undo": func(ctx context.Context) error {
			_, err := s.Undo(ctx, c, memory.UndoRequest{Author: "u2", Since: time.Unix(0, 0)})
			return err
		},
	}
}

// CI pushes runs; what it does not need it does not get.
func TestCIReadsAndWritesNoMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Role = memory.RoleCI
	questions := everyQuestion(w.Service, c)
	w.must(questions["model"](ctx)) // the code may be compared with the server's
	delete(questions, "model")
	for name, call := range questions {
		if err := call(ctx); !problem.Is(err, problem.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.CreateProject(ctx, c, "yard", nil)
	wants(t, err, problem.Forbidden)
	c.CreateProjects = true
	_, err = w.CreateProject(ctx, c, "yard", nil)
	w.must(err)
}

// An agent works with memories; what projects there are, and their models, is for others to decide.
func TestWhatAnAgentMayNotDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := context.Background()
	c := w.c
	c.Role = memory.RoleAgent
	_, err := w.CreateProject(ctx, c, "yard", nil)
	wants(t, err, problem.Forbidden)
	wants(t, w.AddIdentities(ctx, c, c.Project, []string{"remote:example.org/yard"}), problem.Forbidden)
	for _, name := range []string{"import model", "import decisions", "undo"} {
		if err := everyQuestion(w.Service, c)[name](ctx); !problem.Is(err, problem.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"remember", "recall", "list", "map", "model", "why", "check model"} {
		if err := everyQuestion(w.Service, c)[name](ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token that somebody pastes into a memory is taken out like any other secret.
func TestATokenIsASecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	made, err := w.CreateToken(context.Background(), w.c, memory.TokenRequest{Name: "robot"})
	w.must(err)
	if clean, found := redact.Redact("the server wants " + made.Text + " as its token"); strings.Contains(clean, made.Text) || len(found) == 0 {
		t.Errorf("it stays in %q (%v)", clean, found)
	}
}
