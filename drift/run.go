package drift

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
)

// Options are how a run is made; they change nothing of what it finds.
type Options struct {
	Cache FactsCache // nil: nothing is kept
	// History bounds the commits looked at for when a finding began; 0 is 20,000, negative reads no history.
	History int
	// Source tells what the model said at earlier commits; nil: every finding counts as caused by the code.
	Source *Source
}

const defaultHistory = 20_000

// Run compares a model with a commit. A model that cannot be compared is a report without a score, not an error; errors are
// those of reading the repository.
func Run(ctx context.Context, repo *git.Repository, in *Input, o Options) (*Report, error) {
	if o.Cache == nil {
		o.Cache = noCache{}
	}
	o.History = cmp.Or(o.History, defaultHistory)
	r := newReport(in)
	el := newElements(in)
	if reason, fixes := uncheckable(el); reason != "" {
		r.Status, r.Reason, r.Fixes = NotChecked, reason, fixes
		ev := &evaluation{in: in, el: el, fs: &files{}, gone: make([]bool, len(el.all))}
		ev.total(r)
		return r, nil
	}
	attributes, err := readAttributes(ctx, repo, in)
	if err != nil {
		return nil, err
	}
	fs := assign(in, el, attributes)
	es, err := readEdges(ctx, repo, in, el, fs, o.Cache)
	if err != nil {
		return nil, err
	}
	ev := evaluate(in, el, fs, es)
	ev.settle(r)
	ev.total(r)
	if r.Score == nil {
		r.Status, r.Reason, r.Fixes = NotChecked, "every check that applies is waived", []string{"let a waiver end"}
	}
	r.Imports = es.totals
	r.Unverified = ev.unverified
	r.Skipped = append(append(r.Skipped, fs.skipped...), es.skipped...)
	if o.History >= 0 {
		if err := ev.tellHistory(ctx, repo, r, o); err != nil {
			return nil, err
		}
	}
	for i := range r.Findings {
		r.Findings[i].Fix = ev.fix(r.Findings[i])
	}
	settleMoves(r.Findings)
	return r, nil
}

// settleMoves leaves it to the finding of a moved binding to say what becomes of the folder that its files moved to.
func settleMoves(findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Check != UndocumentedCode {
			continue
		}
		for _, moved := range findings {
			if moved.MovedTo != "" && moved.Fix.New != "" && below(f.Subject, moved.MovedTo) {
				f.Fix = Fix{File: f.Fix.File, Action: change, Advice: fmt.Sprintf("binding %s to where its files moved settles this, too", moved.Element)}
			}
		}
	}
}

// newReport is the report before anything was looked at, with no list left null.
func newReport(in *Input) *Report {
	r := &Report{
		Status: Checked, Commit: in.Commit.ID, CommittedAt: in.Commit.Time.UTC(), InputHash: in.hash(), EngineVersion: EngineVersion,
		EvaluatedOn: in.On.Format(time.DateOnly), ModelFile: in.ModelFile, History: "none", Levels: map[string]Tally{}, Elements: map[string]Tally{},
		Findings: []Finding{}, Waived: []WaivedFinding{}, Unverified: []Unverified{}, Unbound: []string{}, Skipped: []Skip{}, Warnings: []string{},
	}
	for _, w := range in.Model.Warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	return r
}

// Unchecked is the report of a commit for which there is no model to compare.
func Unchecked(commit git.Commit, on time.Time, reason string, fixes ...string) *Report {
	r := newReport(&Input{Commit: commit, Model: &c4model.Model{}, On: on})
	r.Status, r.Reason, r.Fixes = NotChecked, reason, fixes
	return r
}

// uncheckable says why there is nothing to compare, and what to do about it.
func uncheckable(el *elements) (reason string, fixes []string) {
	inScope, bound := 0, 0
	for i := range el.all {
		if el.inScope[i] {
			inScope++
			if el.bound[i] && el.none[i] == "" {
				bound++
			}
		}
	}
	switch {
	case len(el.all) == 0:
		return "the model has no elements", []string{"stele model draft, to have one proposed"}
	case inScope == 0:
		return fmt.Sprintf("none of the %d elements of the model is code of this project: they are people, external or planned", len(el.all)),
			[]string{"add the systems and containers of this repository to the model"}
	case bound == 0:
		return fmt.Sprintf("none of the %d elements in scope is bound to code", inScope), []string{"stele bind suggest", "stele bind set ELEMENT 'services/api/**'"}
	}
	return "", nil
}

// readAttributes reads the .gitattributes of the project, parents first.
func readAttributes(ctx context.Context, repo *git.Repository, in *Input) (*attributes, error) {
	a := &attributes{}
	var found []git.Entry
	for _, e := range in.Tree {
		const limit = 1 << 20
		if path.Base(e.Path) == ".gitattributes" && e.Size <= limit && (e.Mode == git.Regular || e.Mode == git.Executable) {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return a, nil
	}
	slices.SortStableFunc(found, func(x, y git.Entry) int { return strings.Count(x.Path, "/") - strings.Count(y.Path, "/") })
	blobs, err := repo.Blobs(ctx)
	if err != nil {
		return nil, err
	}
	defer blobs.Close()
	for _, e := range found {
		text, err := blobs.Read(e.Blob, e.Size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
		a.parse(e.Path, text)
	}
	return a, nil
}

// sortFindings orders findings as reports show them: by check, element and subject.
func sortFindings(list []Finding) { slices.SortFunc(list, compareFindings) }

func compareFindings(a, b Finding) int {
	return cmp.Or(
		slices.Index(Checks, a.Check)-slices.Index(Checks, b.Check), strings.Compare(a.Element, b.Element), strings.Compare(a.Subject, b.Subject))
}

// Compare marks the findings of r that base does not have, and keeps the score of base beside it.
func (r *Report) Compare(base *Report) {
	known := map[string]bool{}
	for _, f := range base.Findings {
		known[f.Fingerprint] = true
	}
	for _, f := range base.Waived {
		known[f.Fingerprint] = true
	}
	for i := range r.Findings {
		r.Findings[i].New = !known[r.Findings[i].Fingerprint]
	}
	r.Base, r.BaseScore = base.Commit, base.Score
}
