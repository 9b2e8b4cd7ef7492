package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
)

// Get opens memories by handle, id or title, in the order asked. Those the caller may not see do not exist for it; by
// handle or id it also opens those of other projects that the caller may look at. The session is taken to have been shown
// them.
func (s *Service) Get(ctx context.Context, c Caller, refs []string) ([]Memory, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(refs) == 0 {
		return nil, problem.Invalidf("memories", "no memory is named").Fix("give one or more handles such as m-7k3f9qa")
	}
	if len(refs) > MaxLimit {
		return nil, problem.Invalidf("memories", "%d memories are more than the %d of one call", len(refs), MaxLimit).Fix("ask in several calls")
	}
	var recs []Record
	err := s.view(ctx, c, func(v View) error {
		recs = make([]Record, 0, len(refs))
		for _, ref := range refs {
			r, err := s.find(ctx, v, c, "memories", ref, c.mayOpen)
			if err != nil {
				return err
			}
			recs = append(recs, *r)
		}
		return s.resolveLinks(ctx, v, c, recs)
	})
	if err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	now := s.now()
	out := make([]Memory, len(recs))
	shown := make([]Impression, 0, len(recs))
	for i := range recs {
		out[i] = recs[i].shown(now)
		if recs[i].Status == Live {
			shown = append(shown, Impression{Memory: recs[i].ID, Revision: recs[i].Revision, DoubtedAt: recs[i].DoubtedAt, Door: DoorRecall})
		}
	}
	return out, s.impress(ctx, c, shown)
}

// change runs a write on one memory under the lock of its space. now is read within the lock, so that the order of times is
// the order of writes.
//
// verb and request are what an idempotency key stands for.
func (s *Service) change(ctx context.Context, c Caller, ref string, verb Verb, request any, fn func(tx Tx, r *Record, now time.Time) error) (Memory, error) {
	const field = "memory"
	if err := c.check(); err != nil {
		return Memory{}, err
	}
	var space SpaceKey
	var id uuid.UUID
	var out Memory
	var done bool
	err := s.view(ctx, c, func(v View) (err error) {
		// A title may name something else by now, or nothing: a retry is known by its key before anything is looked up.
		if done, err = answered(ctx, v, c, verb, request, &out); err != nil || done {
			return err
		}
		r, err := s.record(ctx, v, c, field, ref)
		if err != nil {
			return err
		}
		id, space = r.ID, r.spaceKey()
		return nil
	})
	if err != nil || done {
		return out, err
	}
	err = s.write(ctx, c, []SpaceKey{space}, func(tx Tx) error {
		recs, err := tx.Records(ctx, []uuid.UUID{id})
		if err != nil {
			return err
		}
		if len(recs) != 1 {
			return fmt.Errorf("memory %s vanished", id)
		}
		now := s.now()
		return once(ctx, tx, c, now, verb, request, &out, func() error {
			if recs[0].Status == Erased {
				return problem.New(problem.Conflict, field, recs[0].Handle+" was erased; nothing is left to change", "write it as a new memory")
			}
			if verb != VerbRetire { // which erasing is as well
				if err := recs[0].mustBeReadable(); err != nil {
					return err
				}
			}
			if err := fn(tx, &recs[0], now); err != nil {
				return err
			}
			return s.show(ctx, tx, c, id, &out)
		})
	})
	return out, err
}

func (r *Record) spaceKey() SpaceKey {
	switch r.Scope {
	case Organization:
		return SpaceKey{Organization, ""}
	case Personal:
		return SpaceKey{Personal, r.Owner}
	default:
		return SpaceKey{Project, r.ProjectID.String()}
	}
}

// Confirm says that a memory holds (doubts are cleared, it counts as reviewed) or that it does not (it is disputed, with
// the note, and nothing else changes). It refuses when the memory, or the drift on its elements, is newer than what the
// caller was last shown: problem.Stale, with the current text.
func (s *Service) Confirm(ctx context.Context, c Caller, r ConfirmRequest) (Memory, error) {
	var clean cleaner
	note := clean.text(r.Note)
	if err := checkText("note", note, MaxWhyBytes, "shorten it"); err != nil {
		return Memory{}, err
	}
	m, err := s.change(ctx, c, r.Memory, VerbConfirm, r, func(tx Tx, rec *Record, now time.Time) error {
		if rec.Status == CandidateStatus && r.Holds {
			if err := s.keepCandidate(ctx, tx, c, rec, now); err != nil {
				return err
			}
		}
		if err := mustBeLive(ctx, tx, "memory", rec); err != nil {
			return err
		}
		if err := s.notStale(ctx, tx, c, rec, r.Revision); err != nil {
			return err
		}
		if !r.Holds {
			reason := note
			if reason == "" {
				reason = "disputed by " + AuthorName(c.Agent, c.User)
			}
			if err := tx.OpenDoubt(ctx, Doubt{Memory: rec.ID, Cause: "disputed", Since: now, Reason: reason}); err != nil {
				return err
			}
			return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbDispute, Subject: rec.ID, Revision: rec.Revision})
		}
		seen, err := seenOn(ctx, tx, c, r.Seen, rec.Elements, rec.Paths)
		if err != nil {
			return err
		}
		if err := tx.Confirm(ctx, Confirmation{Memory: rec.ID, At: now, Seen: seen, ClearDoubts: true, Reviewed: true}); err != nil {
			return err
		}
		if err := s.citeIfShown(ctx, tx, c, rec.ID, now); err != nil {
			return err
		}
		if note != "" {
			if err := tx.Remark(ctx, rec.ID, note, now); err != nil {
				return err
			}
		}
		return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbConfirm, Subject: rec.ID, Revision: rec.Revision, Detail: seenDetail(r.Seen)})
	})
	if err != nil {
		return Memory{}, fmt.Errorf("confirm: %w", err)
	}
	return m, nil
}

// notStale compares what the caller decided on with what is there.
func (s *Service) notStale(ctx context.Context, tx Tx, c Caller, r *Record, revision int) error {
	var shown Shown
	if c.Session != "" {
		var err error
		if shown, err = tx.Shown(ctx, c.Session, r.ID); err != nil {
			return err
		}
	}
	stale := func(what string) error {
		return problem.New(problem.Stale, "memory",
			fmt.Sprintf("%s %s; it now says: %s", r.Handle, what, clip(r.Content, 1000)),
			fmt.Sprintf("read it again and confirm revision %d if it still holds", r.Revision))
	}
	read := cmp.Or(revision, shown.Revision)
	switch {
	case revision > r.Revision:
		return problem.New(problem.Stale, "revision", fmt.Sprintf("%s is at revision %d, not %d", r.Handle, r.Revision, revision), "read it again")
	case read != 0 && read < r.Revision:
		return stale(fmt.Sprintf("changed since you were shown it (revision %d, now %d)", read, r.Revision))
	case shown.Revision != 0 && r.DoubtedAt.After(shown.DoubtedAt):
		return stale("came into doubt after you were shown it")
	}
	return nil
}

// Edit changes elements, paths, tags or expiry of a live memory. Its text is changed by superseding it.
func (s *Service) Edit(ctx context.Context, c Caller, r EditRequest) (Memory, error) {
	now := s.now()
	var clean cleaner
	var draft draft
	if r.Tags != nil {
		draft.Tags, draft.Content = *r.Tags, "-"
		if err := draft.clean(); err != nil {
			return Memory{}, err
		}
	}
	var paths []string
	var err error
	if r.Paths != nil {
		if paths, err = cleanPaths(*r.Paths); err != nil {
			return Memory{}, err
		}
	}
	var expires *time.Time
	if r.Expires != nil {
		if expires, err = parseExpiry(clean.text(*r.Expires), now); err != nil {
			return Memory{}, err
		}
	}
	m, err := s.change(ctx, c, r.Memory, VerbEdit, r, func(tx Tx, rec *Record, now time.Time) error {
		if err := mustBeLive(ctx, tx, "memory", rec); err != nil {
			return err
		}
		if err := c.mayEdit(rec, r); err != nil {
			return err
		}
		if r.Revision != 0 && r.Revision != rec.Revision {
			return problem.New(problem.Stale, "revision", fmt.Sprintf("%s is at revision %d, not %d", rec.Handle, rec.Revision, r.Revision),
				"read it again and repeat the change")
		}
		if r.Tags != nil {
			rec.Tags = draft.Tags
		}
		if r.Expires != nil {
			rec.ExpiresAt = expires
		}
		if err := s.reattach(ctx, tx, c, rec, r, paths, now); err != nil {
			return err
		}
		rec.Revision++
		if err := tx.Revise(ctx, rec, IndexOf(&rec.Memory), c, now); err != nil {
			return err
		}
		return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbEdit, Subject: rec.ID, Revision: rec.Revision})
	})
	if err != nil {
		return Memory{}, fmt.Errorf("edit: %w", err)
	}
	return m, nil
}

// mayEdit refuses what would take another's memory out of recall by the back door.
func (c Caller) mayEdit(rec *Record, r EditRequest) error {
	switch {
	case c.mayReviewRecord(rec) || rec.User == c.User && (rec.Scope != Organization || c.Bound == uuid.Nil):
		return nil
	case rec.Scope == Organization:
		return problem.New(problem.Forbidden, "memory", "changing another author's organization memory needs the reviewer role",
			"say that it does not hold: confirm it with holds: false")
	case r.Expires != nil:
		return problem.New(problem.Forbidden, "expires", "changing when another author's memory expires needs the reviewer role",
			"say that it does not hold: confirm it with holds: false")
	}
	return nil
}

// boundElements refuses more elements than a memory may be attached to.
func boundElements(names []string) error {
	if len(names) > MaxElements {
		return problem.Invalidf("elements", "%d elements are more than the %d a memory may be attached to", len(names), MaxElements).
			Fix("attach it to their common parent")
	}
	return nil
}

// reattach applies the elements and paths of an edit. Elements named by a person replace all; new paths bring theirs.
func (s *Service) reattach(ctx context.Context, tx Tx, c Caller, rec *Record, r EditRequest, paths []string, now time.Time) error {
	names := []string{}
	if r.Elements != nil {
		names = *r.Elements
	}
	if err := boundElements(names); err != nil {
		return err
	}
	if r.Paths != nil {
		rec.Paths = paths
	}
	if r.Elements == nil && r.Paths == nil {
		return nil
	}
	at, refs, err := s.attachments(ctx, tx, c, names, paths)
	if err != nil {
		return err
	}
	if r.Elements != nil {
		var gone []uuid.UUID
		for _, e := range rec.Elements {
			if !slices.ContainsFunc(refs, func(n ElementRef) bool { return n.ID == e.ID }) {
				gone = append(gone, e.ID)
			}
		}
		if err := tx.Detach(ctx, rec.ID, gone, now); err != nil {
			return err
		}
		rec.Elements = slices.DeleteFunc(rec.Elements, func(e ElementRef) bool { return slices.Contains(gone, e.ID) })
	}
	var added []Attachment
	for i, a := range at {
		if !slices.ContainsFunc(rec.Elements, func(e ElementRef) bool { return e.ID == a.Element }) {
			if a.Reason == attachedByWriter {
				a.Reason = "reattached"
			}
			added = append(added, a)
			rec.Elements = append(rec.Elements, refs[i])
		}
	}
	return tx.Attach(ctx, rec.ID, added, now)
}

// Forget takes a memory out of recall, reversibly; with Erase it destroys every text of it for good.
func (s *Service) Forget(ctx context.Context, c Caller, r ForgetRequest) (ForgetResponse, error) {
	out := ForgetResponse{Warnings: []string{}}
	var clean cleaner
	reason := clean.text(r.Reason)
	if err := checkText("reason", reason, MaxWhyBytes, "shorten it"); err != nil {
		return ForgetResponse{}, err
	}
	m, err := s.change(ctx, c, r.Memory, VerbRetire, r, func(tx Tx, rec *Record, now time.Time) error {
		switch {
		case r.Erase && !c.mayReviewRecord(rec):
			return problem.New(problem.Forbidden, "erase", "erasing a memory for good needs the reviewer role", "forget it without erase; that is reversible")
		case !c.mayReviewRecord(rec) && (rec.User != c.User || c.Bound != uuid.Nil && rec.Scope == Organization):
			return problem.New(problem.Forbidden, "memory", "forgetting another author's memory needs the reviewer role",
				"say that it does not hold: confirm it with holds: false")
		}
		verb, status := VerbRetire, Retired
		if r.Erase {
			verb = VerbErase
			if err := tx.Erase(ctx, rec, now); err != nil {
				return err
			}
		} else {
			if rec.Status != Live && rec.Status != CandidateStatus {
				return problem.New(problem.Conflict, "memory", fmt.Sprintf("%s is already out of recall (%s)", rec.Handle, rec.Status),
					"nothing needs to be done; erase destroys its text for good")
			}
			if err := tx.SetStatus(ctx, rec, status, uuid.Nil, nil); err != nil {
				return err
			}
		}
		if reason != "" { // why it was erased may stay; what it said may not
			if err := tx.Remark(ctx, rec.ID, reason, now); err != nil {
				return err
			}
		}
		return tx.Audit(ctx, c, AuditEntry{At: now, Verb: verb, Subject: rec.ID, Revision: rec.Revision})
	})
	if err != nil {
		return ForgetResponse{}, fmt.Errorf("forget: %w", err)
	}
	out.Memory = m
	if r.Erase {
		out.Warnings = append(out.Warnings, "the text is destroyed here; backups taken before still hold it until they are deleted")
	}
	return out, nil
}

// Restore brings a retired memory back into recall, or a superseded one whose successors are gone.
func (s *Service) Restore(ctx context.Context, c Caller, ref string) (Memory, error) {
	m, err := s.change(ctx, c, ref, VerbRestore, ref, func(tx Tx, rec *Record, now time.Time) error {
		if !c.mayReviewRecord(rec) && (rec.User != c.User || c.Bound != uuid.Nil && rec.Scope == Organization) {
			return problem.New(problem.Forbidden, "memory", "restoring another author's memory needs the reviewer role", "ask a reviewer")
		}
		switch rec.Status {
		case Live:
			return problem.New(problem.Conflict, "memory", rec.Handle+" is live already", "nothing needs to be done")
		case Superseded:
			if live, err := liveSuccessor(ctx, tx, rec); err != nil {
				return err
			} else if live != nil {
				return problem.New(problem.Conflict, "memory", fmt.Sprintf("%s was superseded by %s, which is live", rec.Handle, live.Handle),
					"forget "+live.Handle+" first, or supersede it with the old text")
			}
		case CandidateStatus:
			return problem.New(problem.Conflict, "memory", rec.Handle+" was never in recall: it is a candidate", "confirm it, and it is a memory")
		case Retired, Erased:
		}
		if err := titleFree(ctx, tx, rec.Space, rec.Title, rec); err != nil {
			return err
		}
		ix := IndexOf(&rec.Memory)
		if err := tx.SetStatus(ctx, rec, Live, uuid.Nil, &ix); err != nil {
			return err
		}
		return tx.Audit(ctx, c, AuditEntry{At: now, Verb: VerbRestore, Subject: rec.ID, Revision: rec.Revision})
	})
	if err != nil {
		return Memory{}, fmt.Errorf("restore: %w", err)
	}
	return m, nil
}

// List gives the memories of the project, the caller's own and the organization's, newest first.
func (s *Service) List(ctx context.Context, c Caller, r ListRequest) (ListResponse, error) {
	if err := c.check(); err != nil {
		return ListResponse{}, err
	}
	if r.Limit < 0 || r.Limit > MaxLimit {
		return ListResponse{}, problem.Invalidf("limit", "%d is not between 1 and %d", r.Limit, MaxLimit).Fix("leave it out for %d", MaxLimit)
	}
	if r.Limit == 0 {
		r.Limit = MaxLimit
	}
	for _, k := range r.Kinds {
		if !slices.Contains(Kinds, k) {
			return ListResponse{}, problem.Invalidf("kinds", "%q is not a kind of memory", clip(string(k), 40)).
				Fix("use pitfall, convention, note or session_outcome")
		}
	}
	switch r.Status {
	case "":
		r.Status = Live
	case Live, Superseded, Retired, Erased, CandidateStatus, "all":
	default:
		return ListResponse{}, problem.Invalidf("status", "%q is not a status", clip(string(r.Status), 40)).
			Fix("use live, superseded, retired, erased, candidate or all")
	}
	if r.Origin != "" && !slices.Contains(origins, r.Origin) {
		return ListResponse{}, problem.Invalidf("origin", "%q is not an origin", clip(string(r.Origin), 40)).
			Fix("use mcp, api, web, cli, hook, import or session")
	}
	q := ListQuery{ListRequest: r}
	q.Agent, q.User = splitAuthor(r.Author)
	if r.Cursor != "" {
		id, err := uuid.Parse(r.Cursor)
		if err != nil {
			return ListResponse{}, problem.Invalidf("cursor", "it is not one this list gave out").Fix("leave it out to start at the newest")
		}
		q.Before = id
	}
	out := ListResponse{Memories: []Memory{}}
	err := s.view(ctx, c, func(v View) error {
		out = ListResponse{Memories: []Memory{}}
		spaces, err := v.Spaces(ctx, c.spaceKeys())
		if err != nil {
			return err
		}
		q.Spaces = allSpaceIDs(spaces, c.spaceKeys())
		if r.Element != "" {
			e, err := element(ctx, v, c, "element", r.Element)
			if err != nil {
				return err
			}
			q.Element = e.ID
		}
		ids, err := v.List(ctx, q)
		if err != nil {
			return err
		}
		recs, err := v.Records(ctx, ids)
		if err != nil {
			return err
		}
		if err := s.resolveLinks(ctx, v, c, recs); err != nil {
			return err
		}
		for i := range recs {
			out.Memories = append(out.Memories, recs[i].shown(s.now()))
		}
		if len(ids) == r.Limit {
			out.NextCursor = ids[len(ids)-1].String()
		}
		return nil
	})
	if err != nil {
		return ListResponse{}, fmt.Errorf("list: %w", err)
	}
	return out, nil
}

// timelineSpan is how many memories are shown on each side of the anchor unless the caller says otherwise.
const timelineSpan = 5

// Timeline shows what was recorded on the same elements around a memory, oldest first; without elements, what was
// recorded in the same space. limit bounds each side.
func (s *Service) Timeline(ctx context.Context, c Caller, ref string, limit int) (TimelineResponse, error) {
	if limit < 0 || limit > MaxLimit {
		return TimelineResponse{}, problem.Invalidf("limit", "%d is not between 1 and %d", limit, MaxLimit).Fix("leave it out for %d on each side", timelineSpan)
	}
	if limit == 0 {
		limit = timelineSpan
	}
	out := TimelineResponse{Entries: []TimelineEntry{}}
	err := s.view(ctx, c, func(v View) error {
		out.Entries = out.Entries[:0]
		r, err := s.record(ctx, v, c, "memory", ref)
		if err != nil {
			return err
		}
		spaces, err := v.Spaces(ctx, c.spaceKeys())
		if err != nil {
			return err
		}
		elements := make([]uuid.UUID, len(r.Elements))
		for i, e := range r.Elements {
			elements[i] = e.ID
		}
		ids, err := v.Around(ctx, AroundQuery{Anchor: r.ID, At: r.CreatedAt, Spaces: allSpaceIDs(spaces, c.spaceKeys()), Elements: elements, Limit: limit})
		if err != nil {
			return err
		}
		recs, err := v.Records(ctx, ids)
		if err != nil {
			return err
		}
		for i := range recs {
			n := &recs[i]
			title := n.Title
			if title == "" {
				title = firstLine(n.Content)
			}
			out.Entries = append(out.Entries, TimelineEntry{At: n.CreatedAt, Handle: n.Handle, Kind: n.Kind, Status: n.Status, Title: title,
				Author: n.Author, Anchor: n.ID == r.ID})
		}
		return nil
	})
	if err != nil {
		return TimelineResponse{}, fmt.Errorf("timeline: %w", err)
	}
	return out, nil
}

// History gives the versions and events of a memory, oldest first.
func (s *Service) History(ctx context.Context, c Caller, ref string) (HistoryResponse, error) {
	var out HistoryResponse
	err := s.view(ctx, c, func(v View) error {
		r, err := s.record(ctx, v, c, "memory", ref)
		if err != nil {
			return err
		}
		recs := []Record{*r}
		if err := s.resolveLinks(ctx, v, c, recs); err != nil {
			return err
		}
		out = HistoryResponse{Memory: recs[0].shown(s.now())}
		if out.Versions, err = v.Versions(ctx, r.ID); err != nil {
			return err
		}
		out.Events, err = v.Events(ctx, r.ID)
		return err
	})
	if err != nil {
		return HistoryResponse{}, fmt.Errorf("history: %w", err)
	}
	return out, nil
}
