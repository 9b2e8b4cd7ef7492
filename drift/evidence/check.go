package evidence

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// Report is what Check found in documents.
type Report struct {
	Commit  string     `json:"commit"` // full hash of what was checked
	Shallow bool       `json:"shallow"`
	Files   []Document `json:"files"`
	Alerts  []Alert    `json:"alerts"`  // by file and line
	Skipped []string   `json:"skipped"` // documents that are no text, with the reason
}

// Document counts what a document states.
type Document struct {
	Path       string `json:"path"`
	Statements int    `json:"statements"` // those with a claim
	Claims     int    `json:"claims"`
	Held       int    `json:"held"` // claims that the code supports; what is neither held nor lost is not of this code
	Lost       int    `json:"lost"`
}

// Alert is a statement that the code does not support any more.
type Alert struct {
	File      string         `json:"file"`
	Line      int            `json:"line"`
	End       int            `json:"end"`
	Statement string         `json:"statement"`
	Seen      string         `json:"seen"` // commit of its last edit: the code supported it then
	Claims    []ClaimVerdict `json:"claims"`
}

// defaults are the documents that Check reads when none is named.
var defaults = []string{"/CLAUDE.md", "/AGENTS.md", "/GEMINI.md", "/README.md", "/CONTRIBUTING.md", "/.github/copilot-instructions.md", "/.cursor/rules", "/docs"}

// Check reads documents at a commit ("" is HEAD) and finds the statements whose claims the code supported when the
// statement was last edited, and supports no more. Documents are named by paths from the top, folders or globs; none means
// the usual ones. Those that tell history are read when they are named themselves. It needs neither a server nor a model.
func Check(ctx context.Context, repo *git.Repository, ref string, names []string) (*Report, error) {
	commit, err := repo.Commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	s, err := NewSearcher(ctx, repo)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	head, err := s.At(ctx, commit.ID)
	if err != nil {
		return nil, err
	}
	s.pin(head)
	documents, err := head.Documents(names)
	if err != nil {
		return nil, err
	}
	c := &checker{repo: repo, s: s, head: head, report: &Report{Commit: commit.ID, Files: []Document{}, Alerts: []Alert{}, Skipped: []string{}}}
	if c.report.Shallow, err = repo.Shallow(ctx); err != nil {
		return nil, err
	}
	if err := c.read(documents); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{c.miss, c.date, c.judge} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c.report, nil
}

// chronicle finds documents that tell history: what they name was, and need not be.
// It and its like are compiled when they are first needed: most commands and every hook start without.
var chronicle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[/_-])(?:change(?:log)?s?|histor(?:y|ical)|proposals?|releases?|release[-_ ]?notes|news|whats[-_]new|migrat\w*|upgrad\w*` +
		`|versioned[-_]docs|adrs?|decisions|rfcs?|archived?|blog|posts)(?:[/._-]|$)`)
})

// Documents gives the documents that names stand for, as in Check, sorted by path.
func (t *Snapshot) Documents(names []string) ([]git.Entry, error) {
	usual := len(names) == 0
	if usual {
		names = defaults
	}
	all, err := t.Entries()
	if err != nil {
		return nil, err
	}
	var out []git.Entry
	for _, name := range names {
		clean, err := t.followed(strings.TrimPrefix(path.Clean("/"+name), "/"))
		if err != nil {
			return nil, err
		}
		n := len(out)
		for _, e := range all {
			if e.Mode != git.Regular && e.Mode != git.Executable || slices.Contains(out, e) {
				continue
			}
			if e.Path == clean || isDocument(e.Path) && !chronicle().MatchString(e.Path) && (clean == "" || c4model.Matches("/"+clean, e.Path)) {
				out = append(out, e)
			}
		}
		if len(out) == n && !usual && !slices.ContainsFunc(out, func(e git.Entry) bool { return c4model.Matches("/"+clean, e.Path) }) {
			return nil, problem.Invalidf("file", "no document of commit %.7s is called %s", t.Commit, name).
				Fix("name a file, a folder or a glob of what is committed").Fix("commit it first")
		}
	}
	if len(out) == 0 {
		return nil, problem.Invalidf("file", "this repository has none of the usual documents (CLAUDE.md, AGENTS.md, README.md, docs)").Fix("name the files to check")
	}
	slices.SortFunc(out, func(a, b git.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// followed is where a path leads, when it is a symbolic link: CLAUDE.md is often one to AGENTS.md.
func (t *Snapshot) followed(name string) (string, error) {
	const most = 8 // as many links in a row are a circle
	for range most {
		e, ok, err := t.file(name)
		if err != nil {
			return "", err
		}
		if !ok || e.Mode != git.Symlink {
			break
		}
		target, err := t.s.text(e.Blob)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			break
		}
		name = strings.TrimPrefix(path.Join("/", path.Dir(name), target), "/")
	}
	return name, nil
}

// checker is one run of Check.
type checker struct {
	repo    *git.Repository
	s       *Searcher
	head    *Snapshot
	report  *Report
	pending []*suspect
}

// suspect is a statement with claims that are not in the code now.
type suspect struct {
	document int
	Statement
	seen git.LineOrigin
}

// past finds statements about what was: that it is gone is what they say.
var past = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:removed|renamed|no longer|any ?more|formerly|previous(?:ly)?|used to|replaced (?:by|with)|superseded|obsolete` +
		`|was (?:moved|split|merged|dropped|deleted))\b`)
})

// read takes the statements with claims out of the documents.
func (c *checker) read(documents []git.Entry) error {
	for _, e := range documents {
		stated, why, err := c.s.Statements(e)
		if err != nil {
			return err
		}
		if why != "" {
			c.report.Skipped = append(c.report.Skipped, strings.ToValidUTF8(e.Path, "\uFFFD")+": "+why)
			continue
		}
		d := Document{Path: e.Path, Statements: len(stated)}
		for _, st := range stated {
			d.Claims += len(st.Claims)
			c.pending = append(c.pending, &suspect{document: len(c.report.Files), Statement: st})
			c.s.Want(st.Claims...)
		}
		c.report.Files = append(c.report.Files, d)
	}
	return nil
}

// Statements gives what a document states about code: its statements with claims, other than those about the past. why says
// what keeps it from being read.
func (s *Searcher) Statements(document git.Entry) (stated []Statement, why string, err error) {
	text, err := s.readers[0].Read(document.Blob, maxText)
	if err != nil && unreadable(err) {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, st := range statements(string(text)) {
		if len(st.Claims) > 0 && !past().MatchString(st.Text) {
			stated = append(stated, st)
		}
	}
	return stated, "", nil
}

// miss keeps the claims that are not in the code now.
func (c *checker) miss(ctx context.Context) error {
	var suspects []*suspect
	for _, p := range c.pending {
		var missing []Claim
		for _, claim := range p.Claims {
			found, _, err := c.head.Find(ctx, claim, nil)
			if err != nil {
				return err
			}
			if found {
				c.report.Files[p.document].Held++
			} else if !slices.ContainsFunc(missing, func(m Claim) bool { return m.Text == claim.Text && m.Kind == claim.Kind }) {
				missing = append(missing, claim)
			}
		}
		if p.Claims = missing; len(missing) > 0 {
			suspects = append(suspects, p)
		}
	}
	c.pending = suspects
	return nil
}

// date finds the commit in which each suspect was last edited.
func (c *checker) date(ctx context.Context) error {
	for n, d := range c.report.Files {
		var ranges []git.Lines
		for _, p := range c.pending {
			if p.document == n {
				ranges = append(ranges, git.Lines{First: p.Line, Last: p.End})
			}
		}
		if len(ranges) == 0 {
			continue
		}
		origins, err := c.repo.Blame(ctx, c.head.Commit, d.Path, ranges...)
		if err != nil {
			return err
		}
		for _, p := range c.pending {
			if p.document != n {
				continue
			}
			for line := p.Line; line <= p.End; line++ {
				if o := origins[line]; o.Time.After(p.seen.Time) || p.seen.Commit == "" {
					p.seen = o
				}
			}
		}
	}
	return nil
}

// judge alarms about claims that were in the code when their statement was edited.
func (c *checker) judge(ctx context.Context) error {
	verdicts := map[string]ClaimVerdict{} // by claim and commit: documents repeat themselves
	slices.SortStableFunc(c.pending, func(a, b *suspect) int { return cmp.Compare(a.seen.Commit, b.seen.Commit) })
	for _, p := range c.pending {
		then, err := c.s.At(ctx, p.seen.Commit)
		if err != nil {
			return err
		}
		alert := Alert{File: c.report.Files[p.document].Path, Line: p.Line, End: p.End, Statement: p.Text, Seen: p.seen.Commit}
		for _, claim := range p.Claims {
			found, where, err := then.Find(ctx, claim, nil)
			if err != nil {
				return err
			}
			if found {
				found, err = then.declared(ctx, claim, where, c.report.Files[p.document].Path)
			}
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			key := p.seen.Commit + string(claim.Kind) + claim.Text
			v, ok := verdicts[key]
			if !ok {
				if v, err = c.s.Follow(ctx, claim, p.seen.Commit, c.head.Commit, where, nil); err != nil {
					return err
				}
				verdicts[key] = v
			}
			passing, err := c.s.passing(ctx, v, c.head)
			if err != nil {
				return err
			}
			if passing {
				continue
			}
			v.Line = claim.Line
			alert.Claims = append(alert.Claims, v)
		}
		if len(alert.Claims) > 0 {
			c.report.Files[p.document].Lost += len(alert.Claims)
			c.report.Alerts = append(c.report.Alerts, alert)
		}
	}
	slices.SortStableFunc(c.report.Alerts, func(a, b Alert) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	return nil
}
