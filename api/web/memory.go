package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

type memoryService interface {
	History(ctx context.Context, c memory.Caller, ref string) (memory.HistoryResponse, error)
	Timeline(ctx context.Context, c memory.Caller, ref string, limit int) (memory.TimelineResponse, error)
	Usage(ctx context.Context, c memory.Caller, ref string) (memory.Usage, error)
	Confirm(ctx context.Context, c memory.Caller, r memory.ConfirmRequest) (memory.Memory, error)
}

// memoryView is all about one memory.
type memoryView struct {
	memory.HistoryResponse // versions and events newest first

	Timeline   []memory.TimelineEntry
	Usage      memory.Usage
	Decisions  []decided
	Done       *decided // the decision that led here
	MayDecide  bool
	MayPromote bool
	Typed      typed
	Wrong      *problem.Error
}

func (p *Pages) registerMemory(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/memories/{handle}", p.project(p.memoryPage))
	mux.Handle("POST /p/{project}/memories/{handle}/confirm", p.project(p.confirm))
}

func (p *Pages) memoryPage(v *visit) error { return p.showMemory(v, http.StatusOK, nil, typed{}) }

// confirm says that the memory holds, or does not, in the revision that was looked at.
func (p *Pages) confirm(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	handle := v.r.PathValue("handle")
	revision, err := strconv.Atoi(form.Get("revision"))
	if err != nil {
		revision = 0
	}
	_, err = p.Service.Confirm(v.ctx(), v.caller, memory.ConfirmRequest{Memory: handle, Holds: form.Get("holds") == "true", Note: lineEnds(form.Get("note")), Revision: revision})
	if pr, ok := problem.As(err); ok && pr.Code != problem.NotFound {
		return p.showMemory(v, status(pr.Code), pr, typed{Reason: form.Get("note")})
	}
	if err != nil {
		return err
	}
	return v.redirect(v.place("memories", handle))
}

func (p *Pages) showMemory(v *visit, code int, wrong *problem.Error, kept typed) error {
	handle := v.r.PathValue("handle")
	h, err := p.Service.History(v.ctx(), v.caller, handle)
	if err != nil {
		return err
	}
	around, err := p.Service.Timeline(v.ctx(), v.caller, handle, 0)
	if err != nil {
		return err
	}
	slices.Reverse(h.Versions)
	slices.Reverse(h.Events)
	view := memoryView{HistoryResponse: h, Timeline: around.Entries, Wrong: wrong, Typed: kept, MayDecide: mayDecide(v.caller, h.Memory)}
	view.MayPromote = v.caller.MayReview() && v.caller.Bound == uuid.Nil && h.Memory.Scope == memory.Project && h.Memory.Status == memory.Live
	if view.Usage, err = p.Service.Usage(v.ctx(), v.caller, h.Memory.ID.String()); err != nil {
		return err
	}
	past, err := p.Service.ReviewHistory(v.ctx(), v.caller, review.HistoryRequest{Memory: h.Memory.ID.String(), Limit: shownDecisions})
	if err != nil {
		return err
	}
	view.Decisions = decisionsFor(v, past.Decisions, v.place("memories", h.Memory.Handle))
	view.Done = doneOf(v, view.Decisions)
	return v.show(code, "memory", memory.Line(memory.TitleOf(h.Memory)), view)
}

// mayDecide tells whether to offer what only reviewers may do, or authors. The domain decides in the end.
func mayDecide(c memory.Caller, m memory.Memory) bool {
	user := m.Author
	if _, after, ok := strings.Cut(m.Author, "/"); ok {
		user = after
	}
	return c.MayDecide(&memory.Record{Memory: m, User: user})
}
