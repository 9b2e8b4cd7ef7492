package drift

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
)

// historian finds when findings began, by walking the first parents of the commit back, with today's bindings.
type historian struct {
	ev       *evaluation
	repo     *git.Repository
	report   *Report
	options  Options
	shallow  bool
	changes  []git.Change                // the history, newest first, renames apart
	position map[string]int              // of a commit in it
	renamed  map[string][]git.FileChange // files of a commit with renames found, by its hash
	byBlob   map[string]string
	blobs    *git.Blobs
	blind    int // commits whose renames could not be looked for
	budget   int // texts still to be read for the sake of history
	inputs   map[string]*Input
}

// maxHistoryTexts bounds the texts of earlier commits that are read in one run, so that a run ends in seconds on any history.
const maxHistoryTexts = 6000

// tracker follows one finding backwards. step sees the commits that touched its paths, newest first, and tells when the one
// that made the check fail is found.
type tracker struct {
	finding *Finding
	paths   []string // literal; "" is everything
	step    func(git.Change) bool
	done    bool
}

// tellHistory fills Since, Outcome and MovedTo of the findings, and History of the report.
func (ev *evaluation) tellHistory(ctx context.Context, repo *git.Repository, r *Report, o Options) error {
	shallow, err := repo.Shallow(ctx)
	if err != nil {
		return err
	}
	r.History = "full"
	if shallow {
		r.History = "shallow"
	}
	if len(r.Findings) == 0 {
		return nil
	}
	h := &historian{
		ev: ev, repo: repo, report: r, options: o, shallow: shallow, position: map[string]int{}, byBlob: map[string]string{}, budget: maxHistoryTexts,
		inputs: map[string]*Input{}, renamed: map[string][]git.FileChange{},
	}
	for change, err := range repo.History(ctx, git.HistoryQuery{Commit: ev.in.Commit.ID, Apart: true, Limit: o.History}) {
		if err != nil {
			return fmt.Errorf("reading history: %w", err)
		}
		h.position[change.Commit.ID] = len(h.changes)
		h.changes = append(h.changes, change)
	}
	for _, f := range ev.fs.all {
		h.byBlob[f.Blob] = f.Path
	}
	if h.blobs, err = repo.Blobs(ctx); err != nil {
		return err
	}
	defer h.blobs.Close()
	if err := h.trackFiles(ctx); err != nil {
		return err
	}
	if err := h.trackImports(ctx); err != nil {
		return err
	}
	if h.blind > 0 {
		r.Skipped = append(r.Skipped, Skip{Count: h.blind, Reason: "commits whose renames were not looked for, since the clone lacks texts of their files"})
	}
	return h.findCauses(ctx)
}

// history walks back from a commit over the changes that touched a file of a kind. Git is asked once for all findings, and for
// renames only where a file of interest came or went in a commit that both added and deleted.
func (h *historian) history(ctx context.Context, from string, touches func(name string) bool) iter.Seq2[git.Change, error] {
	return func(yield func(git.Change, error) bool) {
		at, ok := h.position[from]
		if !ok {
			return
		}
		for _, change := range h.changes[at:] {
			relevant, moved, added, deleted := false, false, false, false
			for _, f := range change.Files {
				came, went := f.Status == 'A', f.Status == 'D'
				added, deleted = added || came, deleted || went
				if touches(f.Path) {
					relevant, moved = true, moved || came || went
				}
			}
			if !relevant {
				continue
			}
			if moved && added && deleted {
				files, err := h.withRenames(ctx, change.Commit)
				if err != nil {
					yield(change, err)
					return
				}
				change.Files = files
			}
			if !yield(change, nil) {
				return
			}
		}
	}
}

// withRenames gives the files of a commit with renames found.
func (h *historian) withRenames(ctx context.Context, c git.Commit) ([]git.FileChange, error) {
	if files, ok := h.renamed[c.ID]; ok {
		return files, nil
	}
	for change, err := range h.repo.History(ctx, git.HistoryQuery{Commit: c.ID, Limit: 1}) {
		if err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("finding renames: %w", err)
		}
		if err != nil { // texts to compare are missing, as in a clone that was not fetched whole: files came and went
			h.renamed[c.ID] = h.changes[h.position[c.ID]].Files
			h.blind++
			break
		}
		h.renamed[c.ID] = change.Files
	}
	return h.renamed[c.ID], nil
}

// began records the commit that made a check fail.
func (h *historian) began(f *Finding, c git.Commit) {
	f.Since = &Since{Commit: c.ID, Time: c.Time, Author: c.Author, Subject: c.Subject, Cause: CodeChanged}
	switch {
	case len(c.Parents) > 0:
		f.Since.LastGood = c.Parents[0]
	case h.shallow:
		f.Since.AtOrBefore = true // the history begins here only because it was cut
	}
}

// trackFiles follows the findings that paths alone decide, in one walk.
func (h *historian) trackFiles(ctx context.Context) error {
	var trackers []*tracker
	for i := range h.report.Findings {
		switch f := &h.report.Findings[i]; f.Check {
		case Existence:
			trackers = append(trackers, h.existenceTracker(f))
		case LanguageMismatch:
			trackers = append(trackers, h.languageTracker(f))
		case UndocumentedCode:
			trackers = append(trackers, h.folderTracker(f))
		case AbsentDependency, UndocumentedDependency, AmbiguousBinding, DanglingReference:
		}
	}
	if len(trackers) == 0 {
		return nil
	}
	var paths []string
	for _, t := range trackers {
		paths = append(paths, t.paths...)
	}
	left := len(trackers)
	for change, err := range h.history(ctx, h.ev.in.Commit.ID, belowAny(paths)) {
		if err != nil {
			return err
		}
		for _, t := range trackers {
			if !t.done && t.step(change) {
				t.done = true
				left--
				h.began(t.finding, change.Commit)
			}
		}
		if left == 0 {
			break
		}
	}
	complete := !h.shallow && len(h.changes) < h.options.History
	for _, t := range trackers {
		switch {
		case t.done:
		case complete && t.finding.Check == Existence:
			t.finding.Outcome = NeverMatched
		case !complete && len(h.changes) > 0:
			h.began(t.finding, h.changes[len(h.changes)-1].Commit)
			t.finding.Since.AtOrBefore = true
		}
	}
	return nil
}

// belowAny tells whether a file is one of the paths or below it; "" is everything.
func belowAny(paths []string) func(name string) bool {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return func(name string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return below(name, p) })
	}
}

// existenceTracker waits for the commit that took the last file of a binding away.
func (h *historian) existenceTracker(f *Finding) *tracker {
	pattern := f.Subject
	return &tracker{finding: f, paths: []string{c4model.StaticPrefix(strings.TrimPrefix(pattern, "/"))}, step: func(c git.Change) bool {
		removed, there := h.removed(c, func(name string) bool { return c4model.Matches(pattern, name) })
		if removed == 0 {
			return false
		}
		if 2*len(there) > removed {
			f.Outcome, f.MovedTo = Moved, destination(pattern, there)
			f.Message += fmt.Sprintf("; most of it moved to %s", f.MovedTo)
		}
		return true
	}}
}

// removed counts the files of a kind that a commit took away, and gives where those that it moved are now.
func (h *historian) removed(c git.Change, of func(string) bool) (n int, there []string) {
	for _, fc := range c.Files {
		switch {
		case fc.Status == 'D' && of(fc.Path):
			n++
			if at, ok := h.byBlob[fc.Old]; ok { // moved in a way that the commit does not show
				there = append(there, at)
			}
		case fc.Status == 'R' && of(fc.From) && !of(fc.Path):
			n++
			if _, ok := h.ev.fs.byPath[fc.Path]; ok {
				there = append(there, fc.Path)
			} else if at, ok := h.byBlob[fc.New]; ok { // moved again, later
				there = append(there, at)
			}
		}
	}
	return n, there
}

// destination names where the files of a binding went: the file itself, or the innermost folder that holds them all.
func destination(pattern string, there []string) string {
	slices.Sort(there)
	if len(there) == 1 && !strings.ContainsAny(pattern, "*?[{") && path.Ext(pattern) == path.Ext(there[0]) && path.Ext(pattern) != "" {
		return there[0]
	}
	common := parent(there[0])
	for _, p := range there[1:] {
		for common != "" && !below(p, common) {
			common = parent(common)
		}
	}
	if common == "" {
		return there[0]
	}
	return common
}

// ground is what an element and everything in it are bound to: the patterns, and the literal paths that they begin with.
func (h *historian) ground(at int) (owners *c4model.Ownership, paths []string) {
	var patterns []string
	for i := range h.ev.el.all {
		if !h.ev.el.inside(i, at) {
			continue
		}
		for _, b := range h.ev.el.bindings[i] {
			pattern := h.ev.in.Bindings[b].Pattern
			patterns = append(patterns, pattern)
			paths = append(paths, c4model.StaticPrefix(strings.TrimPrefix(pattern, "/")))
		}
	}
	return c4model.NewOwnership(patterns), paths
}

// languageTracker waits for the commit that took the last file of the named languages away, or else for the one that brought
// the first code, since before it there was nothing to contradict.
func (h *historian) languageTracker(f *Finding) *tracker {
	el := h.ev.el
	at := el.byKey[c4model.FoldKey(f.Element)]
	owners, paths := h.ground(at)
	named := imports.Languages(el.all[at].Technology)
	of := func(name string) bool {
		found := map[imports.Language]int{imports.LanguageOf(name): 1}
		return slices.ContainsFunc(named, func(l imports.Language) bool { return speaks(found, l) }) && len(owners.Covering(name)) > 0
	}
	code := func(name string) bool {
		l := imports.LanguageOf(name)
		return imports.IsCode(l) && !supporting[l] && len(owners.Covering(name)) > 0
	}
	there := map[string]bool{}
	for _, file := range h.ev.owned[at] {
		if code(file.Path) {
			there[file.Path] = true
		}
	}
	return &tracker{finding: f, paths: paths, step: func(c git.Change) bool {
		n, _ := h.removed(c, of)
		undo(c, there, code)
		return n > 0 || len(there) == 0
	}}
}

// folderTracker waits for the commit that brought the first source file of a folder, going back from those there now.
func (h *historian) folderTracker(f *Finding) *tracker {
	counts := func(name string) bool {
		return below(name, f.Subject) && imports.IsCode(imports.LanguageOf(name)) && !supporting[imports.LanguageOf(name)] && !imports.IsTest(name) &&
			!declaration(name) && !foreign(name, h.ev.in.Root) && !side(name, h.ev.in.Root) && !h.ev.ignored(name)
	}
	there := map[string]bool{}
	for _, file := range h.ev.fs.all {
		if counts(file.Path) {
			there[file.Path] = true
		}
	}
	return &tracker{finding: f, paths: []string{f.Subject}, step: func(c git.Change) bool {
		undo(c, there, counts)
		return len(there) == 0
	}}
}

// undo takes what a commit did to the files of a kind back, so that there holds those before it.
func undo(c git.Change, there map[string]bool, of func(string) bool) {
	for _, fc := range c.Files {
		switch fc.Status {
		case 'A', 'C':
			delete(there, fc.Path)
		case 'D':
			if of(fc.Path) {
				there[fc.Path] = true
			}
		case 'R':
			delete(there, fc.Path)
			if of(fc.From) {
				there[fc.From] = true
			}
		}
	}
}

// facts gives what a file said at an earlier commit. ok is false when the budget is used up or the text cannot be read.
func (h *historian) facts(name, blob string) (imports.Facts, bool) {
	language := imports.LanguageOf(name)
	if blob == "" || !imports.IsExtractable(language) {
		return imports.Facts{}, blob == ""
	}
	if known, ok := h.options.Cache.Facts(blob, language); ok {
		return known, true
	}
	if h.budget--; h.budget < 0 {
		return imports.Facts{}, false
	}
	text, err := h.blobs.Read(blob, maxSource)
	if err != nil {
		return imports.Facts{}, false
	}
	facts, err := imports.Extract(name, text)
	if err != nil {
		return imports.Facts{}, true
	}
	h.options.Cache.Keep(blob, language, facts)
	return facts, true
}
