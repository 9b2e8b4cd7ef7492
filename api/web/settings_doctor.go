package web

import (
	"net/http"
	"strings"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// doctorView is what the server found of itself, when somebody asked.
type doctorView struct {
	Report *doctor.Report
	Wrong  *problem.Error
}

// doctorPage asks nothing yet: looking takes a while, and counts whole tables.
func (p *Pages) doctorPage(v *visit) error {
	if err := v.caller.Diagnoses(); err != nil {
		return err
	}
	return v.show(http.StatusOK, "settings_doctor", "Doctor", doctorView{})
}

// examine answers with what was found. It changes nothing, so that asking again by a reload does no harm.
func (p *Pages) examine(v *visit) error {
	if err := v.caller.Diagnoses(); err != nil {
		return err
	}
	if p.Doctor == nil {
		return problem.New(problem.Unavailable, "", "this server does not examine itself", "run stele doctor where the database is")
	}
	r, err := p.Doctor(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "settings_doctor", "Doctor", doctorView{Report: &r})
}

// Typed is the patterns as a form shows them, one a line.
func (b bindingLine) Typed() string { return strings.Join(b.Patterns, "\n") }

// keyView is how the keys of the organization stand, for its admins.
type keyView struct {
	memory.KeyHealth
	Wrong *problem.Error // why that cannot be told
}

// keys tells how the keys stand. That they cannot be opened is shown where they are, and keeps nobody from the rest.
func (p *Pages) keys(v *visit) (*keyView, error) {
	h, err := p.Service.KeyHealth(v.ctx(), v.caller)
	if pr, ok := problem.As(err); ok {
		return &keyView{Wrong: pr}, nil
	}
	return &keyView{KeyHealth: h}, err
}

// bindingLine is an element with what the server alone binds it to.
type bindingLine struct {
	Element  string
	Patterns []string
}

// uncommitted lists, by element, the bindings that were set here and are not in the repository yet.
func (p *Pages) uncommitted(v *visit) ([]bindingLine, error) {
	all, err := p.Service.UncommittedBindings(v.ctx(), v.caller)
	if err != nil {
		return nil, err
	}
	var out []bindingLine
	for _, b := range all {
		if n := len(out); n == 0 || out[n-1].Element != b.Element {
			out = append(out, bindingLine{Element: b.Element})
		}
		last := &out[len(out)-1]
		last.Patterns = append(last.Patterns, b.Pattern)
	}
	return out, nil
}

// bind makes the bindings of an element that are set here the given ones.
func (p *Pages) bind(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	r := memory.BindRequest{Element: form.Get("element")}
	for pattern := range strings.Lines(form.Get("patterns")) {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			r.Patterns = append(r.Patterns, pattern)
		}
	}
	_, err = p.Service.Bind(v.ctx(), v.caller, r)
	if pr, ok := problem.As(err); ok {
		return p.showSettings(v, status(pr.Code), settingsView{WrongBinding: pr, Binding: bindingLine{Element: r.Element, Patterns: r.Patterns}})
	}
	if err != nil {
		return err
	}
	return v.redirect(v.place("settings") + "#bindings")
}
