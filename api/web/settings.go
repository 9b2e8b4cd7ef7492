package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

type settingsService interface {
	ChangeProjectSettings(ctx context.Context, c memory.Caller, change memory.ProjectSettingsChange) (memory.ProjectInfo, error)
	DriftSettings(ctx context.Context, c memory.Caller) (memory.DriftSettings, error)
	Stats(ctx context.Context, c memory.Caller) (memory.Stats, error)
	Tokens(ctx context.Context, c memory.Caller) ([]memory.Token, error)
	CreateToken(ctx context.Context, c memory.Caller, r memory.TokenRequest) (memory.NewToken, error)
	RevokeToken(ctx context.Context, c memory.Caller, ref string) (memory.Token, error)
	KeyHealth(ctx context.Context, c memory.Caller) (memory.KeyHealth, error)
	Bind(ctx context.Context, c memory.Caller, r memory.BindRequest) (memory.BindResponse, error)
	UncommittedBindings(ctx context.Context, c memory.Caller) ([]c4model.Binding, error)
}

func (p *Pages) registerSettings(mux *http.ServeMux) {
	mux.Handle("GET /p/{project}/settings", p.project(p.settingsPage))
	mux.Handle("POST /p/{project}/settings/organization", p.project(p.setOrganization))
	mux.Handle("POST /p/{project}/settings/bindings", p.project(p.bind))
	mux.Handle("GET /p/{project}/settings/doctor", p.project(p.doctorPage))
	mux.Handle("POST /p/{project}/settings/doctor", p.project(p.examine))
	mux.Handle("POST /p/{project}/settings/tokens", p.project(p.createToken))
	mux.Handle("POST /p/{project}/settings/tokens/revoke", p.project(p.revokeToken))
}

// settingsView is what a project is, decides for itself and costs, and for admins who may speak for the organization.
type settingsView struct {
	Info      memory.ProjectInfo
	Reviewer  bool
	Drift     memory.DriftSettings // for reviewers
	Badge     string               // address of the badges without their names, "" when there are none
	Stats     memory.Stats
	Kinds     []kindCount
	Admin     bool
	Tokens    []tokenLine
	Roles     []memory.Role
	Form      tokenForm
	Made      *memory.NewToken // just made: its text is shown this once
	Wrong     *problem.Error   // with the settings
	WrongForm *problem.Error   // with the token that was asked for

	Keys         *keyView      // for admins
	Uncommitted  []bindingLine // set here and not in the repository yet
	Binding      bindingLine   // as it was typed, to be shown again
	WrongBinding *problem.Error
}

// kindCount is how many live memories of a kind a recall goes over.
type kindCount struct {
	Kind  memory.Kind
	Count int
}

// TextSize is how much the texts take.
func (s settingsView) TextSize() string { return size(s.Stats.TextBytes) }

// VectorSize is how much the vectors take.
func (s settingsView) VectorSize() string { return size(s.Stats.VectorBytes) }

// size is a number of bytes as people say it, in powers of 1024.
func size(n int64) string {
	const step = 1024
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f, unit := float64(n), 0
	for f >= step && unit < len(units)-1 {
		f /= step
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[unit]
}

// tokenLine is a token in the list.
type tokenLine struct {
	memory.Token

	Project string // "" for every project
	Own     bool   // whoever looks signed in with it
	Ended   string // expired or revoked; "" for one that is accepted
}

// tokenForm is what somebody typed, to be shown again when no token came of it.
type tokenForm struct {
	Name, Expires string

	Role        memory.Role
	ThisProject bool
}

func (p *Pages) settingsPage(v *visit) error {
	return p.showSettings(v, http.StatusOK, settingsView{})
}

// administers tells whether the caller may manage the organization. The domain decides in the end.
func administers(c memory.Caller) bool { return c.Role == memory.RoleAdmin && c.Bound == uuid.Nil }

// showSettings shows the page, with what a form of it led to.
func (p *Pages) showSettings(v *visit, code int, view settingsView) error {
	view.Info, view.Reviewer, view.Admin = v.project, v.caller.MayReview(), administers(v.caller)
	if view.Wrong == nil && !view.Admin {
		view.Wrong = view.WrongForm // there is no form to show it at
	}
	if view.Wrong == nil && !view.Reviewer {
		view.Wrong = view.WrongBinding
	}
	if view.Form == (tokenForm{}) {
		view.Form = tokenForm{Role: memory.RoleAgent, ThisProject: true}
	}
	view.Roles = []memory.Role{memory.RoleAgent, memory.RoleCI, memory.RoleReviewer, memory.RoleAdmin}
	var err error
	if view.Reviewer {
		if view.Drift, err = p.Service.DriftSettings(v.ctx(), v.caller); err != nil {
			return err
		}
		if view.Drift.Badge != "" {
			view.Badge = "/v1/badges/" + v.caller.Org.String() + "/" + v.project.ID.String() + "/" + view.Drift.Badge + "/"
		}
	}
	if view.Stats, err = p.Service.Stats(v.ctx(), v.caller); err != nil {
		return err
	}
	if view.Uncommitted, err = p.uncommitted(v); err != nil {
		return err
	}
	for _, k := range memory.Kinds {
		if n := view.Stats.Kinds[k]; n > 0 {
			view.Kinds = append(view.Kinds, kindCount{k, n})
		}
	}
	if view.Admin {
		if view.Tokens, err = p.tokens(v); err != nil {
			return err
		}
		if view.Keys, err = p.keys(v); err != nil {
			return err
		}
	}
	return v.show(code, "settings", "Settings", view)
}

// tokens lists those of the organization: accepted ones first.
func (p *Pages) tokens(v *visit) ([]tokenLine, error) {
	all, err := p.Service.Tokens(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	projects, err := p.Service.Projects(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	out := make([]tokenLine, len(all))
	for i, t := range all {
		out[i] = tokenLine{Token: t, Own: t.ID == v.token.ID}
		if t.ProjectID != nil {
			out[i].Project = t.ProjectID.String()
			if at := slices.IndexFunc(projects, func(info memory.ProjectInfo) bool { return info.ID == *t.ProjectID }); at >= 0 {
				out[i].Project = projects[at].Name
			}
		}
		switch {
		case t.RevokedAt != nil:
			out[i].Ended = "revoked"
		case t.ExpiresAt != nil && !now().Before(*t.ExpiresAt):
			out[i].Ended = "expired"
		}
	}
	slices.SortStableFunc(out, func(a, b tokenLine) int {
		return strings.Compare(a.Ended, b.Ended) // "" is before both
	})
	return out, nil
}

// setOrganization decides whether the project is told what the organization knows.
func (p *Pages) setOrganization(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	without := form.Get("organization") != "in"
	_, err = p.Service.ChangeProjectSettings(v.ctx(), v.caller, memory.ProjectSettingsChange{WithoutOrganization: &without})
	if pr, ok := problem.As(err); ok {
		return p.showSettings(v, status(pr.Code), settingsView{Wrong: pr})
	}
	if err != nil {
		return err
	}
	return v.redirect(v.place("settings"))
}

// createToken answers with the page itself: a text that is shown once is in no address and behind no second request.
func (p *Pages) createToken(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	typed := tokenForm{Name: form.Get("name"), Expires: strings.TrimSpace(form.Get("expires")), Role: memory.Role(form.Get("role")), ThisProject: form.Get("scope") != "all"}
	r := memory.TokenRequest{Name: typed.Name, Role: typed.Role, Expires: typed.Expires}
	if typed.ThisProject {
		r.Project = v.project.ID.String()
	}
	made, err := p.Service.CreateToken(v.ctx(), v.caller, r)
	if pr, ok := problem.As(err); ok {
		return p.showSettings(v, status(pr.Code), settingsView{Form: typed, WrongForm: pr})
	}
	if err != nil {
		return err
	}
	return p.showSettings(v, http.StatusOK, settingsView{Made: &made})
}

func (p *Pages) revokeToken(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	_, err = p.Service.RevokeToken(v.ctx(), v.caller, form.Get("token"))
	if pr, ok := problem.As(err); ok {
		return p.showSettings(v, status(pr.Code), settingsView{WrongForm: pr})
	}
	if err != nil {
		return err
	}
	return v.redirect(v.place("settings") + "#tokens")
}
