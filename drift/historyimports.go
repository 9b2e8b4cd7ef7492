package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
)

const (
	// maxFollowed bounds the files of one undocumented dependency that are followed back.
	maxFollowed = 20
	// maxRounds bounds how often a file is followed over a rename.
	maxRounds = 5
)

// trackImports follows the findings that imports decide.
func (h *historian) trackImports(ctx context.Context) error {
	unfinished := 0
	for i := range h.report.Findings {
		f := &h.report.Findings[i]
		var found bool
		var err error
		switch f.Check {
		case UndocumentedDependency:
			found, err = h.importAppeared(ctx, f)
		case AbsentDependency:
			found, err = h.importVanished(ctx, f)
		case Existence, LanguageMismatch, UndocumentedCode, AmbiguousBinding, DanglingReference:
			continue
		}
		if err != nil {
			return fmt.Errorf("reading history: %w", err)
		}
		if !found && h.budget < 0 {
			unfinished++
		}
	}
	if unfinished > 0 {
		h.report.Skipped = append(h.report.Skipped, Skip{Count: unfinished,
			Reason: fmt.Sprintf("dependencies whose history was not searched to its end, after %d texts", maxHistoryTexts)})
	}
	return nil
}

// importAppeared finds the oldest of the commits that brought the imports which are there today, each file followed over its
// renames.
//
//nolint:gocognit // one walk with its states; parts of it would share all of them
func (h *historian) importAppeared(ctx context.Context, f *Finding) (bool, error) {
	specs := map[string]map[string]bool{} // file → what it imports of the destination
	for _, p := range h.ev.shownBy[f.Fingerprint] {
		if specs[p.File] == nil && len(specs) < maxFollowed {
			specs[p.File] = map[string]bool{}
		}
		if specs[p.File] != nil {
			specs[p.File][p.Text] = true
		}
	}
	shows := func(name string, facts imports.Facts, spec map[string]bool) bool {
		language := imports.LanguageOf(name)
		return slices.ContainsFunc(facts.Imports, func(i imports.Import) bool { return spec[importText(language, i)] })
	}
	var oldest *git.Commit
	from := h.ev.in.Commit.ID
	for range maxRounds {
		if len(specs) == 0 {
			break
		}
		next := map[string]map[string]bool{}
		nextFrom := ""
		for change, err := range h.history(ctx, from, func(name string) bool { return specs[name] != nil }) {
			if err != nil {
				return false, err
			}
			for _, fc := range change.Files {
				spec, ok := specs[fc.Path]
				if !ok {
					continue
				}
				before := fc.Path
				if fc.From != "" {
					before = fc.From
				}
				old, ok := h.facts(before, fc.Old)
				switch {
				case !ok:
					return false, nil
				case fc.Old == "" || !shows(before, old, spec):
					if oldest == nil || h.position[change.Commit.ID] > h.position[oldest.ID] {
						c := change.Commit
						oldest = &c
					}
					delete(specs, fc.Path)
				case before != fc.Path:
					delete(specs, fc.Path)
					next[before] = spec
					if len(change.Commit.Parents) > 0 {
						nextFrom = change.Commit.Parents[0]
					}
				}
			}
			if len(specs) == 0 {
				break
			}
		}
		if specs, from = next, nextFrom; from == "" {
			break
		}
	}
	if oldest == nil {
		return false, nil
	}
	h.began(f, *oldest)
	return true, nil
}

// importVanished finds the newest commit that took away an import of the destination from a file of the source, read with
// today's manifests.
func (h *historian) importVanished(ctx context.Context, f *Finding) (bool, error) {
	el := h.ev.el
	from, to := el.byKey[c4model.FoldKey(f.Element)], el.byKey[c4model.FoldKey(f.Subject)]
	owners, paths := h.ground(from)
	for change, err := range h.history(ctx, h.ev.in.Commit.ID, belowAny(paths)) {
		if err != nil {
			return false, err
		}
		for _, fc := range change.Files {
			before := fc.Path
			if fc.From != "" {
				before = fc.From
			}
			if fc.Old == "" || imports.IsTest(before) || !imports.IsExtractable(imports.LanguageOf(before)) || len(owners.Covering(before)) == 0 {
				continue
			}
			old, ok := h.facts(before, fc.Old)
			if !ok {
				return false, nil
			}
			now, ok := h.facts(fc.Path, fc.New)
			if !ok {
				return false, nil
			}
			if h.lost(before, old, now, to) {
				h.began(f, change.Commit)
				return true, nil
			}
		}
	}
	return false, nil
}

// lost tells whether a file imported something of an element before a change, and no longer after it.
func (h *historian) lost(name string, before, after imports.Facts, to int) bool {
	for _, i := range before.Imports {
		kept := slices.ContainsFunc(after.Imports, func(o imports.Import) bool { return o.Spec == i.Spec && o.Name == i.Name })
		if kept {
			continue
		}
		meaning := h.ev.es.resolver.Resolve(name, i)
		for _, o := range h.ev.fs.owners(slices.Concat(meaning.Files, meaning.Also)) {
			if h.ev.el.inside(o, to) {
				return true
			}
		}
	}
	return false
}
