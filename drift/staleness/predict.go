package staleness

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-dev/stele/drift/evidence"
	"github.com/stele-dev/stele/internal/problem"
)

// sources are the documents whose statements are remembered.
var sources = regexp.MustCompile(`(?i)(?:^|/)(?:claude|agents|gemini|readme|contributing)\.md$|^docs?/|^\.cursor/rules/|^\.github/copilot-instructions\.md$`)

// predictor knows of the repository what the commit of the last step contains, and nothing of what came later.
type predictor struct {
	s          *evidence.Searcher
	seen       string // the commit at which everything was remembered
	memories   []*memory
	documents  int
	ungrounded int
	skipped    []string
	alerts     []Alert
}

// memory is a statement with what its last look at the code found.
type memory struct {
	file    string
	line    int
	text    string
	claims  []claim
	files   []string // the ground: those that its claims were found in, when it was remembered
	tree    string   // state of files at the last alert that they changed
	removed []string // of files, those that are known to have left

	rests    []string          // files of the evidence: of these it is measured how much is rewritten
	measured string            // state of files at the last measurement
	rewrite  *evidence.Rewrite // what that came to
	alarmed  int               // the highest threshold that was passed
}

// claim is a claim of a memory.
type claim struct {
	evidence.Claim
	held     bool // it is in the code
	declared bool // code declares it
	gone     bool // it left; the alert was given, and it is not followed any more
	where    []string
}

// remember takes the statements out of the documents of a commit.
func remember(ctx context.Context, s *evidence.Searcher, commit string) (*predictor, error) {
	p := &predictor{s: s, seen: commit}
	at, err := s.At(ctx, commit)
	if err != nil {
		return nil, err
	}
	documents, err := at.Documents([]string{"."})
	if err != nil && !problem.Is(err, problem.Invalid) { // it is one when there is none
		return nil, err
	}
	for _, d := range documents {
		if !sources.MatchString(d.Path) {
			continue
		}
		stated, why, err := s.Statements(d)
		if err != nil {
			return nil, err
		}
		if why != "" {
			p.skipped = append(p.skipped, d.Path+": "+why)
		}
		if len(stated) > 0 {
			p.documents++
		}
		for _, st := range stated {
			m := &memory{file: d.Path, line: st.Line, text: st.Text}
			for _, c := range st.Claims {
				if !slices.ContainsFunc(m.claims, func(k claim) bool { return k.Text == c.Text && k.Kind == c.Kind }) {
					m.claims = append(m.claims, claim{Claim: c})
				}
			}
			p.memories = append(p.memories, m)
		}
	}
	if err := p.found(ctx); err != nil {
		return nil, err
	}
	if len(p.memories) == 0 {
		return nil, problem.Invalidf("from", "no document of commit %.7s quotes anything that its code has", commit).
			Fix("begin at a later commit, at which CLAUDE.md, AGENTS.md, README.md, CONTRIBUTING.md or docs do")
	}
	return p, nil
}

// found makes evidence of what the code has, as the first run after a memory was written does, and leaves out statements
// that rest on nothing.
func (p *predictor) found(ctx context.Context) error {
	verdicts, err := p.s.Judge(ctx, p.seen, p.watched())
	if err != nil {
		return err
	}
	var grounded []*memory
	for n, m := range p.memories {
		for i, v := range verdicts[n].Claims {
			if c := &m.claims[i]; v.State == evidence.Holds {
				c.held, c.declared, c.where = true, v.Evidence, v.Now
				m.files = append(m.files, v.Now...)
			}
		}
		slices.Sort(m.files)
		if m.files = slices.Compact(m.files); len(m.files) == 0 {
			p.ungrounded++
			continue
		}
		m.rests = m.ground()
		grounded = append(grounded, m)
	}
	p.memories = grounded
	if verdicts, err = p.s.Judge(ctx, p.seen, p.watched()); err != nil {
		return err
	}
	for n, m := range p.memories {
		m.tree, m.measured = verdicts[n].Tree, verdicts[n].Tree
	}
	return nil
}

// ground are the files of evidence, else all that were found.
func (m *memory) ground() []string {
	var out []string
	for _, c := range m.claims {
		if c.held && c.declared {
			out = append(out, c.where...)
		}
	}
	if len(out) == 0 {
		return m.files
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ground are the files that all memories rest on, and their documents.
func (p *predictor) ground() []string {
	var out []string
	for _, m := range p.memories {
		out = append(append(out, m.file), m.files...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// watched is what is looked for, in the order of the memories.
func (p *predictor) watched() []evidence.Watched {
	out := make([]evidence.Watched, 0, len(p.memories))
	for n, m := range p.memories {
		w := evidence.Watched{ID: strconv.Itoa(n), Files: m.files, Seen: p.seen}
		for _, c := range m.claims {
			if !c.gone {
				w.Claims = append(w.Claims, evidence.WatchedClaim{Text: c.Text, Kind: c.Kind, Evidence: c.held, Where: c.where})
			}
		}
		out = append(out, w)
	}
	return out
}

// step looks from one commit. An alert counts as read: what it was about is settled, and the rule speaks again on news only.
func (p *predictor) step(ctx context.Context, n int, commit string) error {
	verdicts, err := p.s.Judge(ctx, commit, p.watched())
	if err != nil {
		return err
	}
	at, err := p.s.At(ctx, commit)
	if err != nil {
		return err
	}
	files, err := at.Entries()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, e := range files {
		for f := e.Path; f != "." && !there[f]; f = path.Dir(f) {
			there[f] = true
		}
	}
	rewrites := map[string]*evidence.Rewrite{}
	for i, m := range p.memories {
		tell := func(rule Rule, names []name, why string) {
			p.alerts = append(p.alerts, Alert{Step: n, Statement: i, Rule: rule, Names: append([]name{}, names...), Why: why})
		}
		stale := m.judge(verdicts[i], tell)
		m.look(verdicts[i].Tree, there, tell)
		if err := p.measure(ctx, m, commit, verdicts[i].Tree, rewrites); err != nil {
			return err
		}
		half := m.rewritten(tell)
		if half != "" {
			tell(Together, nil, half)
		} else if len(stale) > 0 {
			tell(Together, stale, "")
		}
	}
	return nil
}

// judge takes verdicts on claims, and gives the names that are gone.
func (m *memory) judge(v evidence.Verdict, tell func(Rule, []name, string)) []name {
	said := map[Rule][]string{}
	names := map[Rule][]name{}
	add := func(rule Rule, v evidence.ClaimVerdict) {
		said[rule], names[rule] = append(said[rule], v.String()), append(names[rule], name{v.Text, v.Kind})
	}
	next := 0
	for i := range m.claims {
		c := &m.claims[i]
		if c.gone {
			continue
		}
		v := v.Claims[next]
		next++
		switch v.State {
		case evidence.Holds:
			if !c.held {
				c.declared = v.Evidence
			}
			c.held, c.where = true, v.Now
		case evidence.Moved:
			if c.held && !slices.Equal(c.where, v.Now) {
				add(Moved, v)
			}
			c.held, c.where = true, v.Now
		case evidence.Gone:
			c.gone, c.held = true, false
			add(MentionGone, v)
			if !c.declared {
				continue
			}
			if add(EvidenceGone, v); c.Kind == evidence.Path {
				add(PathGone, v)
			}
		case evidence.NeverFound:
		}
	}
	for _, rule := range Rules() {
		if len(names[rule]) > 0 {
			tell(rule, names[rule], strings.Join(said[rule], "; "))
		}
	}
	return names[EvidenceGone]
}

// look compares files as a whole.
func (m *memory) look(tree string, there map[string]bool, tell func(Rule, []name, string)) {
	if tree != m.tree {
		m.tree = tree
		tell(FileChanged, nil, "")
	}
	var left []string
	for _, f := range m.files {
		if !there[f] && !slices.Contains(m.removed, f) {
			left = append(left, f)
		}
	}
	if len(left) > 0 {
		m.removed = append(m.removed, left...)
		tell(FileRemoved, nil, strings.Join(left, ", "))
	}
}

// measure compares the files that a memory rests on with what they were when it was remembered, if they are others than at
// the last step. known are the comparisons of this step.
func (p *predictor) measure(ctx context.Context, m *memory, commit, tree string, known map[string]*evidence.Rewrite) error {
	if tree == m.measured || m.alarmed == thresholds[len(thresholds)-1] {
		return nil
	}
	key := strings.Join(m.rests, "\x00")
	r, ok := known[key]
	if !ok {
		var err error
		if r, err = p.s.Compare(ctx, p.seen, commit, m.rests); err != nil {
			return err
		}
		known[key] = r
	}
	m.measured, m.rewrite = tree, r
	return nil
}

// rewritten tells of each threshold once that it was passed, and gives what half says then.
func (m *memory) rewritten(tell func(Rule, []name, string)) (half string) {
	r := m.rewrite
	if r == nil || r.Lines == 0 {
		return ""
	}
	why := fmt.Sprintf("%d of %d lines are gone", r.Gone, r.Lines)
	for _, t := range thresholds {
		if t <= m.alarmed || 100*r.Gone < t*r.Lines {
			continue
		}
		m.alarmed = t
		tell(rewritten(t), nil, why)
		if t == halfRewritten {
			half = why
		}
	}
	return half
}
