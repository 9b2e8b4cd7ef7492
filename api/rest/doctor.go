package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stele-dev/stele/doctor"
	"github.com/stele-dev/stele/internal/problem"
)

// diagnosis is what a server found of itself and of the organization.
type diagnosis struct {
	OK     bool        `json:"ok"`
	Checks []diagnosed `json:"checks"`
}

// diagnosed is a doctor.Check, under a name that says in the document of what it is one.
type diagnosed doctor.Check

// examine adds what an admin asks when something does not work.
func (a *API) examine() {
	add(a, endpoint{id: "doctor", method: http.MethodGet, path: "/v1/doctor", tag: tagOrganization,
		summary: "Examine the server", description: "Has the server examine what the organization rests on, one thing after the other: " +
			"database, roles, schema, keys, encoder, what waits for a " +
			"vector, models, when a memory was last written and shown, sizes. What cannot be judged because something before it failed is skipped and says because of what. " +
			"It counts whole tables, so ask when something is wrong, not to monitor (`/readyz`). The ids of the checks are in docs/doctor.md. Needs the admin role.",
		answers: "What was found of each."},
		func(ctx context.Context, x *exchange, _ *struct{}) (*answer[diagnosis], error) {
			if a.options.Doctor == nil {
				return nil, problem.New(problem.Unavailable, "", "this server does not examine itself", "run stele doctor where the database is")
			}
			r, err := a.options.Doctor(ctx, x.caller)
			if err != nil {
				return nil, err
			}
			out := diagnosis{OK: r.OK, Checks: make([]diagnosed, len(r.Checks))}
			for n, c := range r.Checks {
				out.Checks[n] = diagnosed(c)
			}
			return &answer[diagnosis]{out}, nil
		})
}

// judgementText is how the state of a check looks as JSON.
type judgementText string

// Schema implements huma.SchemaProvider.
func (judgementText) Schema(huma.Registry) *huma.Schema {
	return oneOf(doctor.OK, doctor.Warn, doctor.Fail, doctor.Skip)
}

// doctorDescriptions say what the schemas of examinations are and what their fields mean.
var doctorDescriptions = map[string]string{
	"Diagnosis":         "What a server found of itself and of the organization.",
	"Diagnosed":         "What was found of one thing. Nothing in it is a secret or the text of a memory.",
	"Diagnosis.ok":      "Nothing failed; there may be warnings.",
	"Diagnosis.checks":  "In the order in which they were asked.",
	"Diagnosed.id":      "What was asked about: stable, for scripts.",
	"Diagnosed.name":    "The same for people.",
	"Diagnosed.state":   "ok, warn (it works, and somebody should look at it), fail, or skip (it was not judged).",
	"Diagnosed.detail":  "What was found, in words.",
	"Diagnosed.fix":     "What to do about it, one line; empty where nothing is to do.",
	"Diagnosed.took_ms": "How long it took, in milliseconds.",
}
