package web

import (
	"strings"
	"time"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory"
)

// driftForm is the settings of drift as they are, or as somebody typed them when they could not be taken.
type driftForm struct {
	TrackedBranch, CloneURL, Schedule string

	Badge string         // secret part of the address of badges; "" without any
	At    string         // address of the badges without their names, "" without any
	Saved bool           // they were just taken
	Wrong *problem.Error // with what was typed
}

// Bad tells whether a field is what the problem is about.
func (f *driftForm) Bad(field string) bool { return f.Wrong != nil && f.Wrong.Field == field }

// badgesAt fills in what follows from the project.
func (f *driftForm) badgesAt(v *visit) {
	if f.Badge != "" {
		f.At = "/v1/badges/" + v.caller.Org.String() + "/" + v.project.ID.String() + "/" + f.Badge + "/"
	}
	f.Saved = f.Wrong == nil && v.r.URL.Query().Get("saved") != ""
}

// setDrift changes what drift is told about the project.
func (p *Pages) setDrift(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	field := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	typed := driftForm{TrackedBranch: field("tracked_branch"), CloneURL: field("clone_url"), Schedule: field("schedule")}
	return p.changeDrift(v, &typed, memory.DriftSettingsChange{TrackedBranch: &typed.TrackedBranch, CloneURL: &typed.CloneURL, Schedule: &typed.Schedule})
}

// setBadge makes a new address for badges, or ends them.
func (p *Pages) setBadge(v *visit) error {
	form, err := v.form()
	if err != nil {
		return err
	}
	on := form.Get("badge") == "on"
	return p.changeDrift(v, nil, memory.DriftSettingsChange{Badge: &on})
}

// changeDrift shows what could not be taken at the form, which keeps what was typed.
func (p *Pages) changeDrift(v *visit, typed *driftForm, change memory.DriftSettingsChange) error {
	_, err := p.Service.ChangeDriftSettings(v.ctx(), v.caller, change)
	pr, ok := problem.As(err)
	switch {
	case ok && (typed == nil || !v.caller.MayReview()): // there is no form to show it at
		return p.showDrift(v, status(pr.Code), driftView{Wrong: pr})
	case ok:
		now, err := p.Service.DriftSettings(v.ctx(), v.caller)
		if err != nil {
			return err
		}
		typed.Badge, typed.Wrong = now.Badge, pr
		return p.showDrift(v, status(pr.Code), driftView{Settings: typed})
	case err != nil:
		return err
	}
	return v.redirect(with(v.place("drift"), "saved", "1") + "#settings")
}

// waiverDays is for how long the lines that the page offers accept a finding: a quarter, as `stele drift waive` does.
const waiverDays = 90

// WaiverUntil is the last day of a waiver that begins now.
func (driftView) WaiverUntil() string {
	return now().UTC().AddDate(0, 0, waiverDays).Format(time.DateOnly)
}
