// Package staleness measures, on the history of a repository, how well signals tell that a statement about code is out of
// date: what the repository's own documents stated at an old commit is remembered, history is walked forward, and each rule's
// alerts are held against what became of the code and of the statements.
package staleness

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// Options say which part of a history is replayed.
type Options struct {
	From     string                // a commit of the chain of first parents, or a day (2006-01-02) whose last commit it is; "" is two years before To
	To       string                // "" is HEAD
	Steps    int                   // how many commits are looked from, evenly spaced, the last among them; 0: each that touches the ground
	Ctags    string                // the program of Universal Ctags; "" looks for ctags
	Progress func(done, total int) // is told of each step; may be nil
}

// Report is what a replay came to. It is the same for the same commits, options and version of ctags.
type Report struct {
	Repository   string      `json:"repository"` // its folder
	From         Step        `json:"from"`
	Steps        []Step      `json:"steps"`
	Evidence     int         `json:"evidence_version"` // evidence.Version
	Documents    int         `json:"documents"`        // with statements about code
	Ungrounded   int         `json:"ungrounded"`       // statements nothing of which was found in code: no rule can speak about them
	Mechanical   *Truth      `json:"mechanical"`       // null when it was not measured
	NotMeasured  string      `json:"not_measured"`     // why not
	Oracle       string      `json:"oracle"`           // first line of ctags --version
	Human        *Truth      `json:"human"`
	Statements   []Statement `json:"statements"`
	Alerts       []Alert     `json:"alerts"` // by step, statement and rule
	SkippedFiles []string    `json:"skipped"`
}

// Step is a commit that was looked from.
type Step struct {
	Commit string    `json:"commit"` // full hash
	Time   time.Time `json:"time"`   // of the committer, UTC
}

// Statement is one that was remembered.
type Statement struct {
	File   string   `json:"file"`
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Names  []string `json:"names"`  // what it quotes
	Judged []string `json:"judged"` // of them, those that the oracle knows
	Stale  int      `json:"stale"`  // step, from 1, at which one of those was first gone; 0 when none was
	Edited int      `json:"edited"` // step, from 1, at which its authors had rewritten or removed it; 0 when they had not
}

// Alert is a prediction: a rule says at a step that a statement is out of date.
type Alert struct {
	Step       int     `json:"step"`      // from 1
	Statement  int     `json:"statement"` // index in Report.Statements
	Rule       Rule    `json:"rule"`
	Names      []name  `json:"names"` // what it is about; empty when it is about the whole statement
	Why        string  `json:"why"`
	Mechanical Outcome `json:"mechanical,omitempty"`
	Human      Outcome `json:"human,omitempty"`
}

// name is a claim of a statement.
type name struct {
	Text string        `json:"text"`
	Kind evidence.Kind `json:"kind"`
}

// Outcome is what a truth says about an alert.
type Outcome string

// The outcomes.
const (
	Right   Outcome = "right"
	AtEdit  Outcome = "at_edit" // right, and the statement was edited between the step before and this one
	Wrong   Outcome = "wrong"
	Unknown Outcome = "unknown" // the oracle knows none of what the alert is about
	Late    Outcome = "late"    // the statement was settled before, by an earlier alert that was right or by its authors
)

// Truth is what the rules are worth against one truth.
type Truth struct {
	Statements int     `json:"statements"` // about which it can tell
	Stale      int     `json:"stale"`      // of them, out of date by the last step
	Scores     []Score `json:"scores"`     // in the order of Rules
}

// Score is what one rule is worth. Rates are null where there is nothing to divide by.
type Score struct {
	Rule           Rule     `json:"rule"`
	Alerts         int      `json:"alerts"`
	Right          int      `json:"right"`
	AtEdit         int      `json:"at_edit"`   // of Right, those in the step of the edit itself, of which it is not told what came first; human only
	Unknown        int      `json:"unknown"`   // further alerts, about which the truth cannot tell
	Catches        int      `json:"catches"`   // statements with an alert that was right
	Precision      *float64 `json:"precision"` // Right ÷ Alerts
	Recall         *float64 `json:"recall"`    // Catches ÷ Truth.Stale
	AlertsPerCatch *float64 `json:"alerts_per_catch"`
}

// defaultYears is how far a replay goes back.
const defaultYears = 2

// DefaultSteps is in how many steps a command walks: about one in five weeks of two years.
const DefaultSteps = 20

// Replay measures the rules on a history. All predictions are made before any truth is looked for, each from the commit of
// its step alone. It takes seconds to minutes; cancelling the context ends it.
func Replay(ctx context.Context, repo *git.Repository, o Options) (*Report, error) {
	chain, err := chainOf(ctx, repo, o)
	if err != nil {
		return nil, err
	}
	s, err := evidence.NewSearcher(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := remember(ctx, s, chain[len(chain)-1])
	if err != nil {
		return nil, err
	}
	var steps []string
	if o.Steps > 0 {
		steps = spaced(chain, o.Steps)
	} else if steps, err = touching(ctx, repo, chain, p.ground()); err != nil {
		return nil, err
	}
	report := &Report{
		Repository: repo.Root(), Evidence: evidence.Version, Documents: p.documents, Ungrounded: p.ungrounded, Steps: []Step{},
		Statements: []Statement{}, Alerts: []Alert{}, SkippedFiles: append([]string{}, p.skipped...),
	}
	if report.From, err = stepAt(ctx, repo, p.seen); err != nil {
		return nil, err
	}
	for n, commit := range steps {
		step, err := stepAt(ctx, repo, commit)
		if err != nil {
			return nil, err
		}
		report.Steps = append(report.Steps, step)
		if err := p.step(ctx, n+1, commit); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(n+1, len(steps))
		}
	}
	report.Alerts = append(report.Alerts, p.alerts...)
	slices.SortStableFunc(report.Alerts, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Statement, b.Statement), cmp.Compare(order(a.Rule), order(b.Rule)))
	})
	return report, settle(ctx, repo, s, p, steps, o.Ctags, report)
}

// settle looks for the truths, and holds the alerts against them.
func settle(ctx context.Context, repo *git.Repository, s *evidence.Searcher, p *predictor, steps []string, program string, report *Report) error {
	edited, err := edits(ctx, repo, s, p, steps)
	if err != nil {
		return err
	}
	symbols, why, err := newCtags(ctx, program)
	if err != nil {
		return err
	}
	var lost *losses
	if report.NotMeasured = why; symbols != nil {
		report.Oracle = symbols.version
		if lost, err = lossesOf(ctx, repo, p, steps, symbols); err != nil {
			return err
		}
	}
	for n, m := range p.memories {
		st := Statement{File: m.file, Line: m.line, Text: m.text, Names: []string{}, Judged: []string{}, Edited: edited[n]}
		for c, claim := range m.claims {
			st.Names = append(st.Names, claim.Text)
			if lost != nil && lost.known(n, c) {
				st.Judged = append(st.Judged, claim.Text)
			}
		}
		if lost != nil {
			st.Stale = lost.first(n)
		}
		report.Statements = append(report.Statements, st)
	}
	report.Human = scoreHuman(report)
	if lost != nil {
		report.Mechanical = scoreMechanical(report, p, lost)
	}
	return nil
}

func stepAt(ctx context.Context, repo *git.Repository, commit string) (Step, error) {
	c, err := repo.Commit(ctx, commit)
	return Step{Commit: c.ID, Time: c.Time}, err
}

// chainOf gives the chain of first parents from To to From, newest first, both included.
func chainOf(ctx context.Context, repo *git.Repository, o Options) ([]string, error) {
	head, err := repo.Commit(ctx, o.To)
	if err != nil {
		return nil, err
	}
	const all = 1 << 30
	chain, err := repo.Ancestors(ctx, head.ID, all)
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(time.DateOnly, o.From)
	if o.From == "" {
		day, err = head.Time.AddDate(-defaultYears, 0, -1), nil
	}
	var from int
	if err == nil {
		from, err = before(ctx, repo, chain, day.AddDate(0, 0, 1))
	} else {
		var c git.Commit
		if c, err = repo.Commit(ctx, o.From); err == nil {
			from = slices.Index(chain, c.ID)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case from < 0:
		return nil, problem.Invalidf("from", "%s is not on the chain of first parents of %.7s", o.From, head.ID).Fix("name a commit of its own branch, or a day").
			Fix("git log --first-parent lists them")
	case from == 0:
		return nil, problem.Invalidf("from", "nothing comes after %s", cmp.Or(o.From, "the first commit")).Fix("begin at an older commit")
	}
	return chain[:from+1], nil
}

// before finds the newest commit before a moment; the oldest when there is none. Times of a chain go up, all but always.
func before(ctx context.Context, repo *git.Repository, chain []string, moment time.Time) (int, error) {
	low, high := 0, len(chain)-1
	for low < high {
		middle := (low + high) / 2
		c, err := repo.Commit(ctx, chain[middle])
		if err != nil {
			return 0, err
		}
		if c.Time.Before(moment) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, nil
}

// spaced chooses n commits of a chain, oldest first, evenly, without its last and with its first.
func spaced(chain []string, n int) []string {
	after := len(chain) - 1
	n = min(n, after)
	out := make([]string, 0, n)
	for i := 1; i <= n; i++ {
		out = append(out, chain[after-i*after/n])
	}
	return out
}

// touching gives the commits of a chain that touch files, oldest first, and its newest.
func touching(ctx context.Context, repo *git.Repository, chain, files []string) ([]string, error) {
	out := []string{chain[0]}
	if len(files) == 0 {
		return out, nil
	}
	for change, err := range repo.History(ctx, git.HistoryQuery{Commit: chain[0], Until: chain[len(chain)-1], Paths: files, Apart: true}) {
		if err != nil {
			return nil, err
		}
		if change.Commit.ID != chain[0] {
			out = append(out, change.Commit.ID)
		}
	}
	slices.Reverse(out)
	return out, nil
}

// Rule is a signal that a statement is out of date.
type Rule string

// The rules.
const (
	EvidenceGone Rule = "evidence_gone" // something that code declared, and the statement quotes, is nowhere any more
	PathGone     Rule = "path_gone"     // evidence_gone by paths alone
	MentionGone  Rule = "mention_gone"  // evidence_gone without asking whether code declared it
	Moved        Rule = "moved"         // something quoted left the files it was in, and is elsewhere
	FileRemoved  Rule = "file_removed"  // a file that held something quoted has gone from its place
	FileChanged  Rule = "file_changed"  // a file that held something quoted is another
	Together     Rule = "together"      // evidence_gone, or half of the lines rewritten
)

// thresholds of the rules rewritten_25 to rewritten_90: percent of the lines that are gone, going up.
var thresholds = []int{25, 50, 75, 90}

// halfRewritten is the threshold that is in Together.
const halfRewritten = 50

func rewritten(percent int) Rule { return Rule("rewritten_" + strconv.Itoa(percent)) }

// Rules are all rules, in the order of reports.
func Rules() []Rule {
	out := []Rule{EvidenceGone, PathGone, MentionGone, Moved}
	for _, t := range thresholds {
		out = append(out, rewritten(t))
	}
	return append(out, Together, FileRemoved, FileChanged)
}

func order(r Rule) int { return slices.Index(Rules(), r) }
