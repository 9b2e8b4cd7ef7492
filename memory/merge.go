package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/facts"
)

// compare sorts the close memories into the one that the draft restates, if any, and those offered in similarTo.
func (s *Service) compare(ctx context.Context, tx Tx, near []Near, r *Record, d *draft, old *Record, out *RememberResponse) (*Record, error) {
	if len(near) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(near))
	for i, n := range near {
		ids[i] = n.ID
	}
	recs, err := tx.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]*Record, len(recs))
	for i := range recs {
		byID[recs[i].ID] = &recs[i]
	}
	dedupe := s.embedder.Thresholds().Dedupe
	var merged *Record
	for _, n := range near {
		e := byID[n.ID]
		if e == nil || e.Unreadable() || (old != nil && e.ID == old.ID) {
			continue
		}
		same, differs := sameFacts(&e.Memory, &r.Memory)
		switch {
		case !same:
		case !compatible(e.Elements, r.Elements):
			differs = "attached elsewhere"
		case (n.SameText || n.Cosine > dedupe) && merged == nil && !d.Separate && old == nil && r.Kind != SessionOutcome:
			merged = e
			continue
		}
		if len(out.SimilarTo) < maxSimilar {
			out.SimilarTo = append(out.SimilarTo, Similar{ID: e.ID, Handle: e.Handle, Title: e.Title, Excerpt: firstLine(e.Content),
				Cosine: n.Cosine, Overlap: n.Overlap, Differs: differs})
		}
	}
	return merged, nil
}

// sameFacts guards a merge: numbers, versions, negations, literals, identifiers and paths of both texts must agree, and
// so must those of titles and reasons where both have them.
func sameFacts(a, b *Memory) (same bool, differs string) {
	for _, t := range [][2]string{{a.Content, b.Content}, {a.Title, b.Title}, {a.Why, b.Why}} {
		if t[0] == "" || t[1] == "" {
			continue
		}
		if same, why := facts.Same(t[0], t[1]); !same {
			return false, why.String()
		}
	}
	return true, ""
}

// compatible attachments are equal, overlapping, or empty on one side.
func compatible(a, b []ElementRef) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(x ElementRef) bool {
		return slices.ContainsFunc(b, func(y ElementRef) bool { return x.ID == y.ID })
	})
}

// restate confirms an existing memory instead of storing its twin: attachments and empty fields are filled. A session
// that was served the memory only echoes it, and a restatement never clears a doubt.
func (s *Service) restate(ctx context.Context, tx Tx, c Caller, e, r *Record, at []Attachment, d *draft, out *RememberResponse) error {
	out.Deduplicated = true
	out.Restated = &Restated{Yours: firstLine(r.Content), Existing: firstLine(e.Content)}
	if c.Session != "" {
		shown, err := tx.Shown(ctx, c.Session, e.ID)
		if err != nil {
			return err
		}
		if shown.Revision != 0 {
			out.Echo = true
			return s.show(ctx, tx, c, e.ID, &out.Memory)
		}
	}
	changed, err := s.complete(ctx, tx, c, e, r, at, d, out)
	if err != nil {
		return err
	}
	// An import is no witness: it may fill what is empty, but it confirms nothing.
	if d.Imported != nil && changed {
		if err := tx.Audit(ctx, c, AuditEntry{At: d.now, Verb: VerbEdit, Subject: e.ID, Revision: e.Revision}); err != nil {
			return err
		}
	}
	if d.Imported == nil {
		seen, err := seenOn(ctx, tx, c, d.Seen, e.Elements, e.Paths)
		if err != nil {
			return err
		}
		conf := Confirmation{Memory: e.ID, At: d.now, Seen: seen, Reviewed: !d.unreviewed}
		if e.expired(d.now) {
			conf.SetExpires, conf.Expires = true, d.expires // it was said again, so it holds for as long as it was said now
		}
		if err := tx.Confirm(ctx, conf); err != nil {
			return err
		}
		if err := tx.Audit(ctx, c, AuditEntry{At: d.now, Verb: VerbRestate, Subject: e.ID, Revision: e.Revision, Detail: seenDetail(d.Seen)}); err != nil {
			return err
		}
	}
	return s.show(ctx, tx, c, e.ID, &out.Memory)
}

// complete fills what the existing memory lacks and the restatement has: attachments, title, reason, tags and paths. It
// tells whether that made a new revision.
func (s *Service) complete(ctx context.Context, tx Tx, c Caller, e, r *Record, at []Attachment, d *draft, out *RememberResponse) (changed bool, err error) {
	missing := slices.DeleteFunc(slices.Clone(at), func(a Attachment) bool {
		return slices.ContainsFunc(e.Elements, func(x ElementRef) bool { return x.ID == a.Element })
	})
	changed = len(missing) > 0
	fill := func(have *string, given string) {
		if *have == "" && given != "" {
			*have, changed = given, true
		}
	}
	if e.Title == "" && r.Title != "" {
		switch err := titleFree(ctx, tx, e.Space, r.Title, e); {
		case problem.Is(err, problem.Conflict):
			out.Warnings = append(out.Warnings, err.Error())
		case err != nil:
			return false, err
		default:
			fill(&e.Title, r.Title)
		}
	}
	fill(&e.Why, r.Why)
	if len(e.Tags) == 0 && len(r.Tags) > 0 {
		e.Tags, changed = r.Tags, true
	}
	if len(e.Paths) == 0 && len(r.Paths) > 0 {
		e.Paths, changed = r.Paths, true
	}
	if len(missing) > 0 {
		for i := range missing {
			if missing[i].Reason == attachedByWriter {
				missing[i].Reason = attachedByRestatement
			}
		}
		if err := tx.Attach(ctx, e.ID, missing, d.now); err != nil {
			return false, err
		}
		for _, ref := range r.Elements {
			if slices.ContainsFunc(missing, func(a Attachment) bool { return a.Element == ref.ID }) {
				e.Elements = append(e.Elements, ref)
			}
		}
	}
	if !changed {
		return false, nil
	}
	e.Revision++
	return true, tx.Revise(ctx, e, IndexOf(&e.Memory), c, d.now)
}
