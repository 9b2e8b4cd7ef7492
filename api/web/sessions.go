package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/session"
)

type sessionService interface {
	Sessions(ctx context.Context, c memory.Caller, r session.ListRequest) (session.List, error)
	SessionConflicts(ctx context.Context, c memory.Caller) (map[string][]session.Conflict, error)
	SessionReceipt(ctx context.Context, c memory.Caller, ref string) (session.Receipt, error)
	CancelSession(ctx context.Context, c memory.Caller, ref string) (session.Summary, error)
}

const (
	// shownPast is how many sessions a page lists.
	shownPast = 30
	// everyState selects sessions of all states.
	everyState session.State = "all"
)

func (p *Pages) registerSessions(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/sessions", p.project(p.sessionsPage))
	mux.Handle("GET /p/{project}/sessions/{id}", p.project(p.receiptPage))
	mux.Handle("POST /p/{project}/sessions/{id}/cancel", p.project(p.cancelSession))
}

// sessionsView is who works where, and who did.
type sessionsView struct {
	State         session.State
	States        []session.State
	Element, User string // what the list is narrowed to

	Active   []atWork // longest at work first
	Conflict int      // of the active, those that meet another
	More     bool     // more are at work than are shown
	Past     []session.Summary
	Rest     string // address of the sessions that did not fit
	Wrong    *problem.Error
}

// atWork is a session that is active.
type atWork struct {
	session.Summary

	Meets []meeting
}

// meeting is another session that works on the same, above or below it, or edited the same file.
type meeting struct {
	session.Conflict

	At memory.ElementRef // of this session; none where they share but a file
}

func (p *Pages) sessionsPage(v *visit) error {
	q := v.r.URL.Query()
	view := sessionsView{State: session.State(q.Get("state")), States: []session.State{session.Active, session.Finished, session.Expired, session.Cancelled},
		Element: strings.TrimSpace(q.Get("element")), User: strings.TrimSpace(q.Get("user"))}
	code := http.StatusOK
	err := p.worked(v, &view)
	if pr, ok := problem.As(err); ok {
		view.Wrong, code = pr, status(pr.Code)
	} else if err != nil {
		return err
	}
	return v.show(code, "sessions", "Sessions", view)
}

// worked reads the active sessions, and those that are over as far as they are asked for.
func (p *Pages) worked(v *visit, view *sessionsView) error {
	cursor := v.r.URL.Query().Get("cursor")
	if cursor == "" && (view.State == "" || view.State == session.Active) {
		active, err := p.Service.Sessions(v.ctx(), v.caller, session.ListRequest{State: session.Active, Element: view.Element, User: view.User})
		if err != nil {
			return err
		}
		view.More = active.NextCursor != ""
		if view.Active, err = p.meetings(v, active.Sessions); err != nil {
			return err
		}
		for _, s := range view.Active {
			if len(s.Meets) > 0 {
				view.Conflict++
			}
		}
	}
	if view.State == session.Active {
		return nil
	}
	state := view.State
	if state == "" {
		state = everyState
	}
	past, err := p.Service.Sessions(v.ctx(), v.caller, session.ListRequest{State: state, Element: view.Element, User: view.User, Limit: shownPast, Cursor: cursor})
	if err != nil {
		return err
	}
	shown := make(map[string]bool, len(view.Active))
	for _, s := range view.Active {
		shown[s.SessionID] = true
	}
	view.Past = slices.DeleteFunc(past.Sessions, func(s session.Summary) bool { return shown[s.SessionID] })
	if past.NextCursor != "" {
		view.Rest = with(address(v, v.place("sessions"), "cursor"), "cursor", past.NextCursor)
	}
	return nil
}

// meetings marks the active sessions that work on the same.
func (p *Pages) meetings(v *visit, active []session.Summary) ([]atWork, error) {
	met, err := p.Service.SessionConflicts(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	out := make([]atWork, len(active))
	for i, s := range active {
		out[i].Summary = s
		for _, c := range met[s.SessionID] {
			if slices.ContainsFunc(out[i].Meets, func(m meeting) bool { return m.SessionID == c.SessionID }) {
				continue // said once of each other session
			}
			m := meeting{Conflict: c}
			for _, l := range s.Leases {
				if l.Element.Key == c.With {
					m.At = l.Element
				}
			}
			out[i].Meets = append(out[i].Meets, m)
		}
	}
	slices.SortStableFunc(out, func(a, b atWork) int { return a.StartedAt.Compare(b.StartedAt) })
	return out, nil
}

// receiptView is one session: what it was shown, what it used of that, and what it left.
type receiptView struct {
	session.Receipt

	CitedServed int      // memories that were served and cited
	Unserved    []string // handles of what it cited without having been served it
	MayCancel   bool
	Wrong       *problem.Error
}

func (p *Pages) receiptPage(v *visit) error { return p.showReceipt(v, http.StatusOK, nil) }

func (p *Pages) showReceipt(v *visit, code int, wrong *problem.Error) error {
	receipt, err := p.Service.SessionReceipt(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	view := receiptView{Receipt: receipt, Wrong: wrong}
	served := map[string]bool{}
	for _, s := range receipt.Served {
		served[s.Handle] = true
		if s.Cited {
			view.CitedServed++
		}
	}
	for _, handle := range receipt.Cited {
		if !served[handle] {
			view.Unserved = append(view.Unserved, handle)
		}
	}
	over := receipt.State == session.Finished || receipt.State == session.Cancelled
	view.MayCancel = !over && (v.caller.MayReview() || userOf(receipt.Author) == v.caller.User)
	title := receipt.Task
	if title == "" {
		title = receipt.SessionID
	}
	return v.show(code, "session", memory.Line(title), view)
}

// userOf is the user in the name of an author, which may begin with an agent.
func userOf(author string) string { return author[strings.LastIndex(author, "/")+1:] }

// cancelSession ends a session without a trace of what it did.
func (p *Pages) cancelSession(v *visit) error {
	id := v.r.PathValue("id")
	_, err := p.Service.CancelSession(v.ctx(), v.caller, id)
	if pr, ok := problem.As(err); ok && pr.Code != problem.NotFound {
		return p.showReceipt(v, status(pr.Code), pr)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.place("sessions", id))
}
