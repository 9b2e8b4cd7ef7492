package memory

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// What the packages beside this one, work sessions and reviews, build on: the rules of this one, in their transactions.

// Check refuses a caller that may not touch memories at all, or is none.
func (c Caller) Check() error { return c.check() }

// MayReview tells whether the caller may decide about what others wrote.
func (c Caller) MayReview() bool { return c.mayReview() }

// Now is the moment by the clock of the domain, in microseconds as PostgreSQL keeps them.
func (s *Service) Now() time.Time { return s.now() }

// FindElement finds one live element of the caller's project by key, former key, name or id. The error names the nearest.
func FindElement(ctx context.Context, v View, c Caller, field, name string) (Element, error) {
	return element(ctx, v, c, field, name)
}

// OwnersOf gives the elements of the project whose bindings own some of the paths, each once.
func OwnersOf(ctx context.Context, v View, project uuid.UUID, paths []string) ([]Element, error) {
	owned, err := ownersOf(ctx, v, project, paths)
	var out []Element
	for _, o := range owned {
		if !slices.ContainsFunc(out, func(e Element) bool { return e.ID == o.Element.ID }) {
			out = append(out, o.Element)
		}
	}
	return out, err
}

// Find finds a memory that the caller sees by handle, id or title, of any status.
func (s *Service) Find(ctx context.Context, v View, c Caller, field, ref string) (*Record, error) {
	return s.record(ctx, v, c, field, ref)
}

// ShowRecords gives memories by id as doors show them; what the caller may not see is left out.
func (s *Service) ShowRecords(ctx context.Context, v View, c Caller, ids []uuid.UUID) ([]Memory, error) {
	recs, err := v.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	return s.Present(ctx, v, c, slices.DeleteFunc(recs, func(r Record) bool { return !c.sees(&r) }))
}

// SpaceIDs gives the ids of the spaces that a question about what is known goes to, in the order of keys: the organization's is left
// out where the project, whose key is the first, does without its memories.
func SpaceIDs(spaces []Space, keys []SpaceKey) []int32 { return orderedSpaceIDs(spaces, keys) }

// ToldSpaces gives the ids of the spaces that a project is told of, without anybody's personal ones: its own, and the
// organization's unless the project does without them.
func ToldSpaces(ctx context.Context, v View, project uuid.UUID) ([]int32, error) {
	keys := []SpaceKey{{Project, project.String()}, {Organization, ""}}
	spaces, err := v.Spaces(ctx, keys)
	return orderedSpaceIDs(spaces, keys), err
}

// Impress records what the caller's session was shown.
func (s *Service) Impress(ctx context.Context, c Caller, shown []Impression) error {
	return s.impress(ctx, c, shown)
}

// Fence marks a text for an agent as reference from memory, never an instruction. Its lines are Plain already.
func Fence(body string) string { return fence(body) }

// TitleOf is the line that stands for a memory in lists: its title, else its first line.
func TitleOf(m Memory) string { return titleOf(m) }

// Clean is the entrance of a free text: private parts and secrets are taken out, then its size is checked. A larger one than
// limit bytes is refused with the name of the field.
func Clean(field, text string, limit int, fix string) (string, []Redaction, error) {
	if err := checkText(field, text, maxRawBytes, fix); err != nil {
		return "", nil, err
	}
	if err := checkUTF8(field, text); err != nil {
		return "", nil, err
	}
	var clean cleaner
	text = clean.text(text)
	return text, clean.redactions(), checkText(field, text, limit, fix)
}

// Prepared is a memory that is checked, redacted and embedded, to be placed in the transaction of a larger write.
type Prepared struct{ draft *draft }

// Space is where it will be placed; the transaction must hold it.
func (p Prepared) Space() SpaceKey { return p.draft.space }

// Prepare checks, redacts and embeds a memory without storing it. Errors are *problem.Error.
func (s *Service) Prepare(ctx context.Context, c Caller, r RememberRequest) (Prepared, error) {
	if err := c.check(); err != nil {
		return Prepared{}, err
	}
	d, err := s.draft(c, r)
	if err != nil {
		return Prepared{}, err
	}
	d.index = IndexOf(&Memory{Title: d.Title, Content: d.Content, Why: d.Why, Tags: d.Tags}) // not under the lock
	d.vector, d.model, d.refused = s.embedForWrite(ctx, d.embeddingText())
	return Prepared{d}, nil
}

// Place stores what was prepared, or confirms the memory it restates, under the lock of its space.
func (s *Service) Place(ctx context.Context, tx Tx, c Caller, p Prepared) (RememberResponse, error) {
	d := p.draft
	out := RememberResponse{SimilarTo: []Similar{}, Redacted: append([]Redaction{}, d.redacted...), Warnings: append([]string{}, d.warnings...)}
	return out, s.place(ctx, tx, c, d, &out)
}

// Sees tells whether the caller may know of a memory at all.
func (c Caller) Sees(r *Record) bool { return c.sees(r) }

// MayDecide tells whether the caller may decide what becomes of a memory: one who reviews, or its author where it is nobody
// else's.
func (c Caller) MayDecide(r *Record) bool {
	return c.mayReviewRecord(r) || r.User == c.User && (r.Scope != Organization || c.Bound == uuid.Nil)
}

// SpaceKeys are the spaces a caller's questions go to, nearest first: the project's, the caller's own, the organization's.
func (c Caller) SpaceKeys() []SpaceKey { return c.spaceKeys() }

// SpaceKey is the space that a memory is in.
func (r *Record) SpaceKey() SpaceKey { return r.spaceKey() }

// Ranking gives the constants of the score.
func (s *Service) Ranking() Ranking { return s.ranking }

// Present gives records as doors show them to a caller, with their links resolved.
func (s *Service) Present(ctx context.Context, v View, c Caller, recs []Record) ([]Memory, error) {
	if err := s.resolveLinks(ctx, v, c, recs); err != nil {
		return nil, err
	}
	c.leaveOut(recs)
	out := make([]Memory, len(recs))
	for i := range recs {
		out[i] = recs[i].shown(s.now())
	}
	return out, nil
}

// Resolve tells what the texts of links lead a caller to now, in their order.
func (s *Service) Resolve(ctx context.Context, v View, c Caller, texts []string) ([]Link, error) {
	recs := []Record{{}}
	for _, t := range texts {
		recs[0].Links = append(recs[0].Links, Link{Text: t})
	}
	err := s.resolveLinks(ctx, v, c, recs)
	return recs[0].Links, err
}

// Reinstate brings a memory back into recall whatever became of its successor; who decided otherwise takes it back.
func (s *Service) Reinstate(ctx context.Context, tx Tx, c Caller, r *Record) error {
	if err := r.mustBeReadable(); err != nil {
		return err
	}
	if err := titleFree(ctx, tx, r.Space, r.Title, r); err != nil {
		return err
	}
	ix := IndexOf(&r.Memory)
	if err := tx.SetStatus(ctx, r, Live, uuid.Nil, &ix); err != nil {
		return err
	}
	return tx.Audit(ctx, c, AuditEntry{At: s.now(), Verb: VerbRestore, Subject: r.ID, Revision: r.Revision, Space: r.Space})
}

// Once runs a write that answers with *out: under the caller's idempotency key the first time only.
func Once[T any](ctx context.Context, tx Tx, c Caller, now time.Time, verb Verb, request any, out *T, write func() error) error {
	return once(ctx, tx, c, now, verb, request, out, write)
}

// Answered gives the answer of an earlier attempt at a write under the caller's idempotency key, if there was one.
func Answered(ctx context.Context, v View, c Caller, verb Verb, request, out any) (bool, error) {
	return answered(ctx, v, c, verb, request, out)
}

// MaxDraws is how often a write that met another one by chance (ErrTaken) is tried.
const MaxDraws = maxDraws
