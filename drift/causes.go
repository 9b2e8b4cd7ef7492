package drift

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/drift/imports"
	"github.com/stele-dev/stele/internal/git"
	"github.com/stele-dev/stele/internal/problem"
)

// maxModels bounds the earlier versions of the model that are read in one run.
const maxModels = 60

// findCauses tells the findings that the code made from those that the model made: where the model came to say today's thing
// only after the code had gone its way, the model's commit is the cause.
func (h *historian) findCauses(ctx context.Context) error {
	if h.options.Source == nil {
		return nil
	}
	changes, err := h.modelChanges(ctx)
	if err != nil || len(changes) == 0 {
		return err
	}
	for i := range h.report.Findings {
		f := &h.report.Findings[i]
		says := h.statement(f)
		if says == nil {
			continue
		}
		if err := h.findCause(ctx, f, changes, says); err != nil {
			return err
		}
	}
	return nil
}

// modelChanges are the commits that touched the model or stele.yaml, newest first.
func (h *historian) modelChanges(ctx context.Context) ([]git.Commit, error) {
	var paths []string
	if file := h.ev.in.ModelFile; file != "" {
		if dir := path.Dir(file); dir != "." {
			file = dir // a model may be written in several files
		}
		paths = append(paths, file)
	}
	if h.ev.in.SettingsFile != "" {
		paths = append(paths, h.ev.in.SettingsFile)
	}
	if len(paths) == 0 {
		return nil, nil
	}
	var out []git.Commit
	for change, err := range h.repo.History(ctx, git.HistoryQuery{Commit: h.ev.in.Commit.ID, Paths: paths, Limit: h.options.History}) {
		if err != nil {
			return nil, fmt.Errorf("reading history of the model: %w", err)
		}
		out = append(out, change.Commit)
	}
	return out, nil
}

// findCause looks at the versions of the model since the code changed.
func (h *historian) findCause(ctx context.Context, f *Finding, changes []git.Commit, says func(*Input) bool) error {
	later := changes
	if f.Since != nil {
		at, known := h.position[f.Since.Commit]
		later = nil
		for _, c := range changes {
			if p, ok := h.position[c.ID]; ok && known && p < at {
				later = append(later, c)
			}
		}
		if len(later) == 0 {
			return nil
		}
		said, err := h.said(ctx, f.Since.Commit, says)
		if err != nil || said {
			return err
		}
	}
	// The newest change before which the model did not say so yet.
	for _, c := range later {
		before := false
		if len(c.Parents) > 0 {
			var err error
			if before, err = h.said(ctx, c.Parents[0], says); err != nil {
				return err
			}
		}
		if !before {
			atOrBefore := h.shallow && len(c.Parents) == 0
			h.began(f, c)
			f.Since.Cause, f.Since.AtOrBefore = ModelChanged, atOrBefore
			return nil
		}
	}
	return nil
}

// said tells whether the model of a commit makes a statement. A model that was not there or cannot be read says nothing; one
// that is not read, because too many were, counts as saying it, so that the code's commit stands.
func (h *historian) said(ctx context.Context, commit string, says func(*Input) bool) (bool, error) {
	in, ok := h.inputs[commit]
	if !ok {
		if len(h.inputs) >= maxModels {
			return true, nil
		}
		loaded, err := h.options.Source.Load(ctx, commit)
		switch _, known := problem.As(err); {
		case err != nil && ctx.Err() != nil:
			return false, err
		case err != nil && !known:
			return false, fmt.Errorf("the model at %s: %w", commit, err)
		case err != nil:
			loaded = nil
		}
		in = loaded
		h.inputs[commit] = in
	}
	return in != nil && says(in), nil
}

// statement is what the model says today that the code contradicts, as a question to an earlier version.
func (h *historian) statement(f *Finding) func(*Input) bool {
	switch f.Check {
	case Existence:
		return func(in *Input) bool {
			return slices.ContainsFunc(in.Bindings, func(b c4model.Binding) bool {
				return h.same(in, b.Element, f.Element) && b.Pattern == f.Subject
			})
		}
	case LanguageMismatch:
		return func(in *Input) bool {
			return slices.ContainsFunc(in.Model.Elements, func(e c4model.Element) bool {
				return h.same(in, e.Key, f.Element) && joinLanguages(imports.Languages(e.Technology)) == f.Subject
			})
		}
	case AbsentDependency:
		return func(in *Input) bool {
			return slices.ContainsFunc(in.Model.Relationships, func(r c4model.Relationship) bool {
				return c4model.FoldKey(r.Source) == c4model.FoldKey(f.Element) && c4model.FoldKey(r.Destination) == c4model.FoldKey(f.Subject)
			})
		}
	case UndocumentedDependency:
		return func(in *Input) bool { return h.silentAbout(in, f) }
	case UndocumentedCode:
		return func(in *Input) bool { return h.unownedBefore(in, f) }
	case AmbiguousBinding, DanglingReference:
		return nil
	}
	return nil
}

// same tells whether an element of an earlier model, by its key there, is one of today's: by key, or by the property stele.id where
// the key changed since.
func (h *historian) same(in *Input, then, now string) bool {
	if c4model.FoldKey(then) == c4model.FoldKey(now) {
		return true
	}
	id := identity(h.ev.in, now)
	return id != "" && id == identity(in, then)
}

// identity is the property stele.id of an element, "" without one.
func identity(in *Input, key string) string {
	for _, e := range in.Model.Elements {
		if c4model.FoldKey(e.Key) == c4model.FoldKey(key) {
			return e.Properties[c4model.IdentityProperty]
		}
	}
	return ""
}

// silentAbout tells whether a version of the model knew both elements, and no dependency between them. Whether it was bound to
// files by then says nothing: history is told with today's bindings.
func (h *historian) silentAbout(in *Input, f *Finding) bool {
	el := newElements(in)
	a, okA := el.byKey[c4model.FoldKey(f.Element)]
	b, okB := el.byKey[c4model.FoldKey(f.Subject)]
	if !okA || !okB {
		return false
	}
	return !slices.ContainsFunc(in.Model.Relationships, func(r c4model.Relationship) bool {
		x, okX := el.byKey[c4model.FoldKey(r.Source)]
		y, okY := el.byKey[c4model.FoldKey(r.Destination)]
		return okX && okY && el.related(a, x) && el.related(b, y)
	})
}

// unownedBefore tells whether a version of the model left a folder unowned and unignored, as today's does.
func (h *historian) unownedBefore(in *Input, f *Finding) bool {
	patterns := make([]string, len(in.Bindings))
	for i, b := range in.Bindings {
		patterns[i] = b.Pattern
	}
	sample := h.ev.firstSource(f.Subject)
	return len(c4model.NewOwnership(patterns).Covering(sample)) == 0 &&
		!slices.ContainsFunc(in.Ignore, func(glob string) bool { return c4model.Matches(glob, sample) })
}
