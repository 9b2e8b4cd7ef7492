package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/drift"
	"github.com/stele-dev/stele/drift/report"
)

// Result is what a job found out.
type Result struct {
	*drift.Report

	Gates    []drift.GateResult `json:"gates"`
	RunID    string             `json:"run_id,omitempty"` // of the server
	Memories report.Memories    `json:"memories"`
	Notes    []string           `json:"notes"` // about the job itself: what was fetched, who did not answer
}

// Publish tells the result: outputs, the summary of the job, annotations, and where the job may, a comment on the pull request and
// a check run. What GitHub refuses becomes a warning and is no error.
func Publish(ctx context.Context, job *Job, log Log, r *Result) error {
	name, err := job.writeReport(r)
	if err != nil {
		return err
	}
	if err := job.SetOutputs(r.outputs(name)); err != nil {
		return err
	}
	job.tellGitHub(ctx, log, r)
	r.annotate(log)
	for _, note := range r.Notes {
		log.Say("%s", note)
	}
	log.Say("%s", r.title())
	return job.Summarize(r.summary())
}

// writeReport keeps the whole result in a file for later steps, and gives its name.
func (j *Job) writeReport(r *Result) (string, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	f, err := os.CreateTemp(j.Temp, "stele-drift-*.json")
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return filepath.ToSlash(f.Name()), nil
}

// outputs are those of action.yml. What is not known is empty.
func (r *Result) outputs(name string) []Output {
	number := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	return []Output{
		{"score", number(r.Score)}, {"coverage", number(r.Coverage)}, {"run-id", r.RunID},
		{"total-elements", strconv.Itoa(r.Totals.Elements)}, {"matched-count", strconv.Itoa(r.Totals.Matched)},
		{"missing-in-code", strconv.Itoa(r.Totals.MissingInCode)}, {"new-in-code", strconv.Itoa(r.Totals.NewInCode)},
		{"drifted-count", strconv.Itoa(r.Totals.Drifted)}, {"new-findings", strconv.Itoa(len(r.fresh()))},
		{"doubted-memories", strconv.Itoa(len(r.Memories.Doubted))}, {"status", string(r.Status)}, {"report", name},
	}
}

// fresh are the findings that the base does not have.
func (r *Result) fresh() []drift.Finding {
	var out []drift.Finding
	for _, f := range r.Findings {
		if f.New {
			out = append(out, f)
		}
	}
	return out
}

// title is the result in one line.
func (r *Result) title() string {
	if r.Score == nil {
		return "Drift was not checked: " + r.Reason
	}
	text := fmt.Sprintf("Drift score %d; 100 means the code matches the model", *r.Score)
	if n := len(r.fresh()); n > 0 {
		text += fmt.Sprintf("; new findings: %d", n)
	}
	return text
}

func (r *Result) summary() string {
	parts := []string{report.Markdown(r.Report, r.Gates)}
	if about := report.MemoriesMarkdown(r.Memories); about != "" {
		parts = append(parts, about+"\n")
	}
	if notes := report.Notes(r.Notes); notes != "" {
		parts = append(parts, notes)
	}
	return strings.Join(parts, "\n")
}

// shownAnnotations is how many of each level a runner shows for one step.
const shownAnnotations = 10

// annotate puts failed gates and new findings where people read the change.
func (r *Result) annotate(log Log) {
	level, errs := Warning, 0
	for _, g := range r.Gates {
		if !g.Passed {
			log.Annotate(Annotation{Level: Error, Title: "Stele: " + g.Gate, Text: g.Detail})
			errs++
			if g.Gate == "fail-on-new" {
				level = Error
			}
		}
	}
	shown := shownAnnotations
	if level == Error {
		shown -= errs
	}
	fresh := r.fresh()
	for i, f := range fresh {
		if i == shown {
			log.Say("%d more new findings are in the summary", len(fresh)-shown)
			break
		}
		text := f.Message
		if fix := f.Fix.String(); fix != "" {
			text += ". To settle it: " + fix
		}
		log.Annotate(Annotation{Level: level, Title: report.Title(f.Check), Text: text, File: f.File, Line: f.Line})
	}
	if r.Status == drift.NotChecked {
		log.Annotate(Annotation{Level: Notice, Title: "Stele", Text: r.title()})
	}
}

// tellGitHub keeps the comment and makes the check run.
func (j *Job) tellGitHub(ctx context.Context, log Log, r *Result) {
	if j.GitHubToken == "" || j.Fork() {
		return
	}
	a, err := newAPI(j)
	if err != nil {
		log.Annotate(Annotation{Level: Warning, Title: "Stele", Text: err.Error()})
		return
	}
	commit := j.Commit
	if j.Pull != nil {
		commit = j.Pull.Head
		if j.Comment {
			marker := report.CommentMarker(j.Model)
			if err := a.keepComment(ctx, j.Pull.Number, marker, report.Comment(marker, r.Report, r.Gates, r.Memories)); err != nil {
				what, _, _ := strings.Cut(err.Error(), ":")
				log.Annotate(Annotation{Level: Warning, Title: "Stele: comment", Text: what + ": " + explain(errors.Unwrap(err), "pull-requests: write")})
			}
		}
	}
	// Whoever wants a check run gives the job the permission; without it there is none, which is no fault.
	if err := a.check(ctx, commit, r.conclusion(), r.title(), report.Markdown(r.Report, r.Gates)); err != nil && !refused(err) {
		log.Annotate(Annotation{Level: Warning, Title: "Stele: check run", Text: explain(err, "checks: write")})
	}
}

func (r *Result) conclusion() string {
	switch {
	case !drift.Passed(r.Gates):
		return "failure"
	case r.Status == drift.NotChecked:
		return "neutral"
	}
	return "success"
}
