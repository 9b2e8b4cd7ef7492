package hook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

// Service answers hooks. It is safe for concurrent use.
type Service struct {
	memory   *memory.Service
	sessions *session.Service
	store    Store
}

// Store keeps candidates beside memories.
type Store interface {
	View(ctx context.Context, org uuid.UUID, fn func(memory.View) error) error
	Write(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(memory.Tx) error) error
}

// New makes a Service beside those of memories and work sessions.
func New(m *memory.Service, s *session.Service, store Store) *Service { return &Service{m, s, store} }

// Hook does what an event is for. Errors are *problem.Error; a client goes on without an answer.
func (s *Service) Hook(ctx context.Context, c memory.Caller, r Request) (Response, error) {
	c.Door = memory.FromHook
	if r.Conversation != "" {
		c.Session = r.Conversation
	}
	if err := r.clean(c); err != nil {
		return Response{}, err
	}
	h := &handling{Service: s, caller: c, request: r,
		out: Response{Shown: []Shown{}, Cited: []string{}, Candidates: []string{}}}
	if err := h.run(ctx); err != nil {
		return Response{}, fmt.Errorf("hook %s: %w", r.Event, err)
	}
	return h.out, nil
}

// clean refuses what no client says, and lets go of what cannot be used.
func (r *Request) clean(c memory.Caller) error {
	if !slices.Contains(Events, r.Event) {
		return problem.Invalidf("event", "%q is no event of a hook", session.ClipTo(string(r.Event), 40)).Fix("use start, prompt, before_edit, after_edit, pause or end")
	}
	if c.Session == "" {
		return problem.Invalidf("conversation", "the client's id of the conversation is missing").Fix("send it")
	}
	for _, t := range []struct {
		field, text string
		most        int
	}{{"prompt", r.Prompt, MaxPromptBytes}, {"said", r.Said, MaxSaidBytes}, {"asked", r.Asked, MaxSaidBytes}} {
		if len(t.text) > t.most || !utf8.ValidString(t.text) {
			return problem.Invalidf(t.field, "it is not UTF-8 of at most %d bytes", t.most).Fix("cut it")
		}
	}
	r.Paths, r.Edited = usable(r.Paths), usable(r.Edited)
	return r.Anchor.Check()
}

// usable are the paths that can be paths of a repository; the others, such as files elsewhere, are nobody's here.
func usable(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p, err := memory.CleanPath("paths", p); err == nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out[:min(len(out), MaxPaths)]
}

// handling is one event under way.
type handling struct {
	*Service
	caller  memory.Caller
	request Request
	session session.Recollection
	out     Response
}

func (h *handling) run(ctx context.Context) error {
	if h.request.Event == Start {
		if err := h.start(ctx, h.request.Source); err != nil {
			return err
		}
		return h.standing(ctx)
	}
	if err := h.resume(ctx); err != nil {
		return err
	}
	switch h.request.Event {
	case Start:
	case Prompt:
		return h.prompt(ctx)
	case BeforeEdit:
		return h.beforeEdit(ctx)
	case AfterEdit:
		return h.beat(ctx, session.HeartbeatRequest{})
	case Pause:
		if err := h.pause(ctx); err != nil {
			return err
		}
		return h.standing(ctx)
	case End:
		return h.end(ctx)
	}
	return nil
}

// start opens the work session, or goes on with it, and briefs.
func (h *handling) start(ctx context.Context, source string) error {
	tokens := startTokens
	switch source {
	case session.SourceCompact:
		tokens = compactTokens
	case session.SourceResume:
		tokens = resumeTokens
	}
	r := session.StartRequest{Worktree: h.request.Worktree, Source: source, Continues: h.request.Continues, MaxTokens: &tokens, Seen: h.request.Seen, Unseen: h.request.Observe}
	started, err := h.sessions.StartSession(ctx, h.caller, r)
	if err != nil {
		return err
	}
	h.caller.Session, h.out.SessionID = started.SessionID, started.SessionID
	h.out.Context = started.Briefing
	if h.request.Commands {
		h.out.Context = strings.Replace(h.out.Context, " · pass it as sessionId to recall", "", 1)
	}
	if len(h.request.Edited) > 0 {
		return h.beat(ctx, session.HeartbeatRequest{})
	}
	return nil
}

// resume finds the work session of the conversation; one whose start nobody told of begins now, with its briefing.
func (h *handling) resume(ctx context.Context) error {
	c, err := h.sessions.Arrive(ctx, h.caller)
	if err != nil {
		return err
	}
	for range 2 {
		var ok bool
		if h.session, ok, err = h.sessions.Recollect(ctx, c); err != nil {
			return err
		}
		if ok {
			h.caller.Session, h.out.SessionID = h.session.Name, h.session.Name
			return nil
		}
		if h.request.Event == End {
			return nil // nothing was done of which anything is known
		}
		if err := h.start(ctx, ""); err != nil {
			return err
		}
		c = h.caller
	}
	return nil
}

// beat notes what was edited, with what else is to be noted.
func (h *handling) beat(ctx context.Context, r session.HeartbeatRequest) error {
	_, err := h.heartbeat(ctx, r)
	return err
}

func (h *handling) heartbeat(ctx context.Context, r session.HeartbeatRequest) (session.Status, error) {
	r.Edited = h.request.Edited
	return h.sessions.HeartbeatSession(ctx, h.caller, r)
}

func (h *handling) standing(ctx context.Context) error {
	t, err := h.sessions.Standing(ctx, h.caller)
	h.out.Standing = Standing{t.Documented, t.Elements, t.Doubted}
	return err
}
