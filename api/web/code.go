package web

import (
	"context"
	"net/http"

	"github.com/stele-dev/stele/drift/since"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type codeService interface {
	CodeSpan(ctx context.Context, c memory.Caller, ref string) (memory.CodeSpan, error)
}

func (p *Pages) registerCode(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/memories/{memory}/code", p.project(p.codePage))
}

// codeView is what happened to the code that a memory is about.
type codeView struct {
	Memory  memory.Memory
	Span    memory.CodeSpan
	Changes since.Changes
	Wrong   *problem.Error // why nothing can be told
}

// codePage shows what the code said when a memory was written, and says now.
func (p *Pages) codePage(v *visit) error {
	past, err := p.Service.History(v.ctx(), v.caller, v.r.PathValue("memory"))
	if err != nil {
		return err
	}
	view := codeView{Memory: past.Memory}
	view.Span, err = p.Service.CodeSpan(v.ctx(), v.caller, past.Memory.ID.String())
	if err == nil {
		if p.Code == nil {
			err = problem.New(problem.NotFound, "", "this server has no copy of the repository", "in a checkout: stele changes "+view.Memory.Handle)
		} else {
			view.Changes, err = p.Code(v.ctx(), v.project.ID, view.Span)
		}
	}
	if pr, ok := problem.As(err); ok {
		view.Wrong, err = pr, nil
	}
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "code", "Code of "+view.Memory.Handle, view)
}
