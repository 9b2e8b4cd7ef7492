package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/memory/terms"
)

// candidates is how many names an error offers for an unknown or ambiguous one.
const candidates = 5

// Why a memory is attached to an element.
const (
	attachedByWriter      = "writer"
	attachedByPath        = "path"
	attachedByRestatement = "restated"
)

// maxSessionBytes bounds the id of a session: an id of any client fits, a text does not.
const maxSessionBytes = 200

// check refuses a caller that may not touch memories at all, or is none.
func (c Caller) check() error {
	if c.Role == RoleCI {
		return problem.New(problem.Forbidden, "", "the role ci pushes runs and does not read or write memories", "use a token of role agent")
	}
	return c.valid()
}

// valid refuses a caller of another project, without a name, or whose session cannot be one.
func (c Caller) valid() error {
	switch {
	case c.Bound != uuid.Nil && c.Project != c.Bound:
		// A door that forgot to look the project up ends here: it does not exist for this caller.
		return problem.New(problem.NotFound, "project", "there is no such project", "this token is for one project; leave the project out")
	case c.User == "" || strings.ContainsFunc(c.User+c.Agent, unicode.IsControl) || len(c.User)+len(c.Agent) > 2*MaxNameBytes:
		return problem.Invalidf("user", "the author has no name that can be kept").Fix("set one of at most %d printable bytes", MaxNameBytes)
	case len(c.Session) > maxSessionBytes || strings.ContainsFunc(c.Session, unicode.IsControl) || !utf8.ValidString(c.Session):
		return problem.Invalidf("sessionId", "it is not an id that was given out").Fix("pass the id that started the session, or leave it out")
	}
	return c.checkRetry()
}

func (c Caller) mayReview() bool { return c.Role == RoleReviewer || c.Role == RoleAdmin }

// sees tells whether the caller may know of a memory at all. What it may not see does not exist for it.
func (c Caller) sees(r *Record) bool {
	switch r.Scope {
	case Personal:
		return r.Owner == c.User
	case Organization:
		return true
	default:
		return r.ProjectID == c.Project
	}
}

// spaceKeys are the spaces a caller's questions go to, nearest first.
func (c Caller) spaceKeys() []SpaceKey {
	keys := make([]SpaceKey, 0, 3)
	if c.Project != uuid.Nil {
		keys = append(keys, SpaceKey{Project, c.Project.String()})
	}
	return append(keys, SpaceKey{Personal, c.User}, SpaceKey{Organization, ""})
}

// mayOpen tells whether the caller may open a memory whose handle or id it has: also one of another project it may look
// at, since a recall that was widened to that project names it in its index.
func (c Caller) mayOpen(r *Record) bool {
	return c.sees(r) || r.Scope == Project && c.Bound == uuid.Nil
}

// record finds a memory that the caller sees by handle, id or title, of any status.
func (s *Service) record(ctx context.Context, v View, c Caller, field, ref string) (*Record, error) {
	return s.find(ctx, v, c, field, ref, c.sees)
}

// find is record for another idea of what may be found. A title is looked for where the caller is.
func (s *Service) find(ctx context.Context, v View, c Caller, field, ref string, may func(*Record) bool) (*Record, error) {
	ref = strings.TrimSpace(ref)
	ref = strings.TrimSuffix(strings.TrimPrefix(ref, "[["), "]]")
	if ref == "" {
		return nil, problem.Invalidf(field, "no memory is named").Fix("give a handle such as m-7k3f9qa, or the title")
	}
	var id uuid.UUID
	var err error
	if isHandle(ref) {
		id, err = v.ByHandle(ctx, strings.ToLower(ref))
	} else if parsed, perr := uuid.Parse(ref); perr == nil {
		id = parsed
	}
	if err == nil && id == uuid.Nil {
		id, err = byTitle(ctx, v, c, ref)
	}
	if err != nil {
		return nil, err
	}
	if id != uuid.Nil {
		recs, err := v.Records(ctx, []uuid.UUID{id})
		if err != nil {
			return nil, err
		}
		if len(recs) == 1 && may(&recs[0]) {
			return &recs[0], nil
		}
	}
	return nil, problem.New(problem.NotFound, field, fmt.Sprintf("no memory %q is known here", clip(ref, 80)),
		"check the handle; recall or list shows what there is")
}

func byTitle(ctx context.Context, v View, c Caller, title string) (uuid.UUID, error) {
	keys := c.spaceKeys()
	spaces, err := v.Spaces(ctx, keys)
	if err != nil {
		return uuid.Nil, err
	}
	return v.ByTitle(ctx, allSpaceIDs(spaces, keys), terms.Fold(title))
}

// orderedSpaceIDs gives the ids of the spaces that a question about what is known goes to, in the order of keys. Where the
// first is of a project that does without the organization's memories, the organization's is left out.
func orderedSpaceIDs(spaces []Space, keys []SpaceKey) []int32 {
	without := len(keys) > 0 && keys[0].Scope == Project &&
		slices.ContainsFunc(spaces, func(sp Space) bool { return sp.SpaceKey == keys[0] && sp.WithoutOrganization })
	if !without {
		return allSpaceIDs(spaces, keys)
	}
	return allSpaceIDs(spaces, slices.DeleteFunc(slices.Clone(keys), func(k SpaceKey) bool { return k.Scope == Organization }))
}

// allSpaceIDs gives the ids of all the spaces, in the order of keys: for lists, and for names that somebody has already.
func allSpaceIDs(spaces []Space, keys []SpaceKey) []int32 {
	ids := make([]int32, 0, len(spaces))
	for _, k := range keys {
		for _, sp := range spaces {
			if sp.SpaceKey == k {
				ids = append(ids, sp.ID)
			}
		}
	}
	return ids
}

// mustBeLive refuses a memory that left recall, naming the live one that took its place.
func mustBeLive(ctx context.Context, v View, field string, r *Record) error {
	switch r.Status {
	case Live:
		return nil
	case Superseded:
		live, err := liveSuccessor(ctx, v, r)
		if err != nil {
			return err
		}
		if live != nil {
			return problem.New(problem.Conflict, field, fmt.Sprintf("%s was superseded; the live one is %s", r.Handle, live.Handle),
				"use "+live.Handle)
		}
		return problem.New(problem.Conflict, field, fmt.Sprintf("%s was superseded and its successor is no longer live", r.Handle),
			"write it as a new memory")
	case CandidateStatus:
		return problem.New(problem.Conflict, field, r.Handle+" is a candidate that nobody confirmed", "confirm it first")
	default:
		return problem.New(problem.Conflict, field, fmt.Sprintf("%s is %s", r.Handle, r.Status), "restore it first, or write it as a new memory")
	}
}

// liveSuccessor gives the live memory at the end of the chain of successors; nil when that one left recall.
func liveSuccessor(ctx context.Context, v View, r *Record) (*Record, error) {
	if r.Status == Live {
		return r, nil
	}
	if r.Status != Superseded {
		return nil, nil
	}
	id, err := v.LiveSuccessor(ctx, r.ID)
	if err != nil || id == uuid.Nil {
		return nil, err
	}
	recs, err := v.Records(ctx, []uuid.UUID{id})
	if err != nil || len(recs) == 0 {
		return nil, err
	}
	return &recs[0], nil
}

// element finds one live element of the caller's project by key, former key or display name.
func element(ctx context.Context, v View, c Caller, field, name string) (Element, error) {
	name = strings.TrimSpace(name)
	if len(name) > MaxPathBytes || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
		return Element{}, problem.Invalidf(field, "%q cannot be the name of an element", clip(name, 80)).Fix("give its key or name, as the model has it")
	}
	if c.Project == uuid.Nil {
		return Element{}, problem.Invalidf(field, "no project is chosen, so %q cannot be looked up", clip(name, 80)).Fix("name the project")
	}
	found, err := v.FindElements(ctx, c.Project, name)
	if err != nil {
		return Element{}, err
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		p := problem.New(problem.Ambiguous, field, fmt.Sprintf("%q is the name of %d elements", clip(name, 80), len(found)))
		for i, e := range found {
			if i == candidates {
				break
			}
			p.Fixes = append(p.Fixes, "use "+describe(e))
		}
		return Element{}, p
	}
	all, err := v.Elements(ctx, c.Project, false)
	if err != nil {
		return Element{}, err
	}
	p := problem.New(problem.NotFound, field, fmt.Sprintf("the model has no element %q", clip(name, 80)))
	for _, e := range closestElements(all, name, candidates) {
		p.Fixes = append(p.Fixes, "use "+describe(e))
	}
	if len(all) == 0 {
		p.Fixes = append(p.Fixes, "import a model with `stele model import`, or name paths instead")
	}
	return Element{}, p
}

func describe(e Element) string {
	return fmt.Sprintf("%s (%s, %s)", e.Key, clip(e.Name, 60), e.Level)
}

// attachments resolves the elements a writer named and those that own the paths; each says why it is attached.
func (s *Service) attachments(ctx context.Context, v View, c Caller, names, paths []string) ([]Attachment, []ElementRef, error) {
	at := []Attachment{}
	refs := []ElementRef{}
	add := func(ref ElementRef, a Attachment) {
		if !slices.ContainsFunc(at, func(o Attachment) bool { return o.Element == a.Element }) {
			at, refs = append(at, a), append(refs, ref)
		}
	}
	for _, name := range names {
		if strings.TrimSpace(name) == "" {
			continue
		}
		e, err := element(ctx, v, c, "elements", name)
		if err != nil {
			return nil, nil, err
		}
		add(e.Ref(), Attachment{Element: e.ID, Reason: attachedByWriter})
	}
	if len(paths) == 0 || c.Project == uuid.Nil {
		return at, refs, nil
	}
	owned, err := ownersOf(ctx, v, c.Project, paths)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range owned {
		ref := o.Element.Ref()
		ref.Reason = "by " + o.Path
		add(ref, Attachment{Element: o.Element.ID, Reason: attachedByPath, Path: o.Path})
	}
	return at, refs, nil
}

// owned is an element with the path through which it was found.
type owned struct {
	Element Element
	Path    string
}

// ownersOf finds the elements whose bindings own the paths.
func ownersOf(ctx context.Context, v View, project uuid.UUID, paths []string) ([]owned, error) {
	bindings, err := v.Bindings(ctx, project)
	if err != nil || len(bindings) == 0 {
		return nil, err
	}
	elements, err := v.Elements(ctx, project, false)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]Element, len(elements))
	for _, e := range elements {
		byID[e.ID] = e
	}
	var out []owned
	for _, p := range paths {
		for _, id := range owners(bindings, p) {
			if e, ok := byID[id]; ok {
				out = append(out, owned{e, p})
			}
		}
	}
	return out, nil
}

func (r *Record) expired(now time.Time) bool { return r.ExpiresAt != nil && !r.ExpiresAt.After(now) }

// shown is the memory as doors show it, with its marks in words.
func (r *Record) shown(now time.Time) Memory {
	m := r.Memory
	flags := slices.Clone(m.Flags)
	mark := func(flag, reason string) { flags = append(flags, Flag{flag, reason}) }
	switch m.Status {
	case Superseded:
		mark("superseded", "replaced by "+m.SupersededBy)
	case Retired:
		mark("retired", "taken out of recall; restore brings it back")
	case Erased:
		mark("erased", "its text was destroyed")
	case CandidateStatus:
		mark("candidate", "a sentence that a hook found; a memory once somebody confirms it")
	case Live:
	}
	if r.expired(now) {
		mark("expired", "expired on "+m.ExpiresAt.Format(time.DateOnly))
	}
	if m.Unreviewed && m.Status != CandidateStatus {
		mark("unreviewed", "came by "+string(m.Origin)+" and nobody confirmed it yet")
	}
	switch m.Scope {
	case Personal:
		mark("personal", "seen by you only")
	case Organization:
		mark("organization", "holds in every project")
	case Project:
	}
	for _, e := range m.Elements {
		if e.Orphan {
			mark("orphaned", e.Key+" left the model")
		}
	}
	m.Flags = flags
	if m.Flags == nil {
		m.Flags = []Flag{}
	}
	if m.Elements == nil {
		m.Elements = []ElementRef{}
	}
	if m.Paths == nil {
		m.Paths = []string{}
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	if m.Links == nil {
		m.Links = []Link{}
	}
	return m
}

// show loads a memory as it stands in this transaction.
func (s *Service) show(ctx context.Context, v View, c Caller, id uuid.UUID, out *Memory) error {
	recs, err := v.Records(ctx, []uuid.UUID{id})
	if err != nil {
		return err
	}
	if len(recs) == 0 {
		return fmt.Errorf("memory %s vanished within its own transaction", id)
	}
	if err := s.resolveLinks(ctx, v, c, recs); err != nil {
		return err
	}
	c.leaveOut(recs)
	*out = recs[0].shown(s.now())
	return nil
}

func seenDetail(seen *Seen) map[string]string {
	if seen == nil {
		return nil
	}
	d := map[string]string{}
	// A branch name is a person's words, and the trail is never erased.
	for k, v := range map[string]string{"commit": seen.Commit, "tree": seen.Tree} {
		if v != "" {
			d[k] = v
		}
	}
	return d
}
