package memory

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/stele-dev/stele/internal/problem"
)

// Bounds of an import.
const (
	// MaxImportRecords bounds the records of one call, which is one transaction: others who write there wait a quarter of a second.
	MaxImportRecords = 500
	// MaxImportKeyBytes bounds the key of a record: a source, a session and a turn fit.
	MaxImportKeyBytes = 512
	// maxImportVersions bounds the texts that one record had.
	maxImportVersions = 1000
)

// ImportRequest brings memories from elsewhere. Each record is taken, known, merged or refused by itself.
type ImportRequest struct {
	Batch   uuid.UUID      `json:"batch,omitzero"` // of the run that several calls belong to, which is reviewed as one; uuid.Nil = this call is one
	DryRun  bool           `json:"dry_run,omitempty"`
	Records []ImportRecord `json:"records"`
}

// ImportRecord is one memory from elsewhere. A record whose key was imported before is left alone, whatever became of its memory.
type ImportRecord struct {
	Key       string     `json:"key"` // source and native id, as "claude-mem:observation:17"
	Kind      Kind       `json:"kind"`
	Title     string     `json:"title,omitempty"`
	Content   string     `json:"content"`
	Why       string     `json:"why,omitempty"`
	Scope     Scope      `json:"scope,omitempty"`    // Project when empty
	Elements  []string   `json:"elements,omitempty"` // keys or names; those the model does not have are said and left out
	Paths     []string   `json:"paths,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	CreatedAt time.Time  `json:"created_at,omitzero"` // now when zero or later than now
	Agent     string     `json:"agent,omitempty"`
	User      string     `json:"user,omitempty"` // the author; the caller when empty, with Agent if there is one
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Anchor    *Anchor    `json:"anchor,omitempty"`
	Restore   *Restore   `json:"restore,omitempty"`
}

// Restore is what a record of our own export knows beyond its text. Whoever may review gets the memory back as it was; for others
// it is an import like any other, and one that is not live is refused.
type Restore struct {
	ID            uuid.UUID         `json:"id"`
	Handle        string            `json:"handle"`
	Status        Status            `json:"status"`
	Origin        Origin            `json:"origin"`
	Unreviewed    bool              `json:"unreviewed,omitempty"`
	ConfirmedAt   time.Time         `json:"confirmed_at"`
	Confirmations int               `json:"confirmations"`
	Revision      int               `json:"revision"`
	Successor     uuid.UUID         `json:"successor,omitzero"` // the memory that superseded it
	Seen          *Seen             `json:"seen,omitempty"`
	Refresh       bool              `json:"refresh,omitempty"`  // where the memory is there and was confirmed earlier, or less often, it takes that over
	Attached      []RestoredElement `json:"attached,omitempty"` // with the reasons; in place of ImportRecord.Elements
	Doubts        []RestoredDoubt   `json:"doubts,omitempty"`
	Versions      []RestoredVersion `json:"versions,omitempty"` // every one up to Revision, or Revision becomes 1
}

// RestoredElement is an element that a memory was attached to, and why as ElementRef says it.
type RestoredElement struct {
	Key    string `json:"key"`
	Name   string `json:"name,omitempty"`
	Level  string `json:"level,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// RestoredDoubt is an open doubt, in words.
type RestoredDoubt struct {
	Flag   string `json:"flag"` // verify or disputed
	Reason string `json:"reason"`
}

// RestoredVersion is the text of one revision.
type RestoredVersion struct {
	Revision   int       `json:"revision"`
	RecordedAt time.Time `json:"recorded_at"`
	Author     string    `json:"author"`
	Title      string    `json:"title,omitempty"`
	Content    string    `json:"content,omitempty"`
	Why        string    `json:"why,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	Gone       bool      `json:"gone,omitempty"` // its text was destroyed, or could not be read
}

// ImportResult is what became of a record.
type ImportResult string

// The results.
const (
	ImportTaken   ImportResult = "taken"
	ImportKnown   ImportResult = "known"   // imported before; nothing changed
	ImportMerged  ImportResult = "merged"  // restates a memory, which now has what it lacked
	ImportRefused ImportResult = "refused" // the note says why
)

// ImportOutcome tells what became of one record.
type ImportOutcome struct {
	Key      string       `json:"key"`
	Result   ImportResult `json:"result"`
	Handle   string       `json:"handle,omitempty"`   // of the memory; of a dry run only where it is there already
	Elements []string     `json:"elements,omitempty"` // keys it is attached to, when taken
	Notes    []string     `json:"notes,omitempty"`    // why it was refused, or what was changed or left out
}

// ImportResponse has one outcome for each record, in their order.
type ImportResponse struct {
	Batch    uuid.UUID       `json:"batch"`
	Records  []ImportOutcome `json:"records"`
	Redacted []Redaction     `json:"redacted"` // of the records taken or merged
}

// arriving is a record on its way in.
type arriving struct {
	draft    *draft
	restore  *Restore
	versions []StoredVersion
	outcome  *ImportOutcome
	refused  *problem.Error // and then nothing else
}

// ImportMemories stores records of other memories in one transaction. A record that cannot be stored is refused alone; the error is
// about the request as a whole, and nothing is stored then. What is stored is unreviewed, has the times and authors it had, and
// gets its vector later. It never confirms anything.
func (s *Service) ImportMemories(ctx context.Context, c Caller, r ImportRequest) (ImportResponse, error) {
	p, err := s.PrepareImport(ctx, c, r)
	if err != nil {
		return ImportResponse{}, err
	}
	return p.Store(ctx)
}

// PreparedImport is an import whose records are checked and cleaned, and not stored.
type PreparedImport struct {
	service *Service
	c       Caller
	request ImportRequest // what an idempotency key stands for
	batch   uuid.UUID
	records []ImportOutcome // with what is refused
	arrived []*arriving     // the others
	spaces  []SpaceKey
}

// PrepareImport does of ImportMemories what needs no database: half of the work, which whoever has many calls to make can do for the
// next call while one is stored.
func (s *Service) PrepareImport(ctx context.Context, c Caller, r ImportRequest) (*PreparedImport, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(r.Records) == 0 || len(r.Records) > MaxImportRecords {
		return nil, problem.Invalidf("records", "%d records are not between 1 and %d", len(r.Records), MaxImportRecords).Fix("send them in several calls")
	}
	c.Door = FromImport
	p := &PreparedImport{service: s, c: c, request: r, records: make([]ImportOutcome, len(r.Records))}
	if r.Batch == uuid.Nil {
		r.Batch = newID()
	}
	p.batch = r.Batch
	arrived, err := s.arriveAll(ctx, c, r)
	if err != nil {
		return nil, err
	}
	for i, a := range arrived {
		o := &p.records[i]
		o.Key = r.Records[i].Key
		if a.refused != nil {
			if !utf8.ValidString(o.Key) {
				o.Key = ""
			}
			o.Result, o.Notes = ImportRefused, []string{a.refused.Error()}
			continue
		}
		p.arrived = append(p.arrived, a)
		if !slices.Contains(p.spaces, a.draft.space) {
			p.spaces = append(p.spaces, a.draft.space)
		}
	}
	return p, nil
}

// Store stores it, and answers as ImportMemories does. It is for one call.
func (p *PreparedImport) Store(ctx context.Context) (ImportResponse, error) {
	s, c := p.service, p.c
	out := ImportResponse{Batch: p.batch, Records: p.records, Redacted: []Redaction{}}
	if len(p.arrived) == 0 {
		return out, nil
	}
	err := s.write(ctx, c, p.spaces, func(tx Tx) error {
		out = ImportResponse{Batch: p.batch, Records: slices.Clone(p.records), Redacted: []Redaction{}}
		return once(ctx, tx, c, s.now(), VerbImport, p.request, &out, func() error {
			at := 0
			for i := range out.Records {
				if p.records[i].Result == ImportRefused {
					continue
				}
				p.arrived[at].outcome = &out.Records[i]
				at++
			}
			return newImporting(s, tx, c, p.batch, p.request.DryRun).run(ctx, p.arrived, &out)
		})
	})
	if err != nil {
		return ImportResponse{}, fmt.Errorf("import: %w", err)
	}
	return out, nil
}

// arriveAll checks and cleans the records, on all processors: looking for secrets and words in hundreds of texts takes longer than
// storing them. Each has a place in the answer, also those that are refused.
func (s *Service) arriveAll(ctx context.Context, c Caller, r ImportRequest) ([]*arriving, error) {
	now := s.now()
	out := make([]*arriving, len(r.Records))
	keys := map[string]bool{}
	var each errgroup.Group
	each.SetLimit(runtime.GOMAXPROCS(0))
	for i, rec := range r.Records {
		again := keys[rec.Key]
		keys[rec.Key] = true
		each.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			a, err := s.arrive(c, rec, again, r.Batch, now)
			if err != nil {
				p, ok := problem.As(err)
				if !ok {
					return err
				}
				a = &arriving{refused: p}
			}
			out[i] = a
			return nil
		})
	}
	return out, each.Wait()
}

// arrive checks and cleans one record without looking at the database. again says that its key was there before.
func (s *Service) arrive(c Caller, rec ImportRecord, again bool, batch uuid.UUID, now time.Time) (*arriving, error) {
	switch {
	case rec.Key == "" || len(rec.Key) > MaxImportKeyBytes || !utf8.ValidString(rec.Key) || strings.ContainsFunc(rec.Key, unicode.IsControl):
		return nil, problem.Invalidf("key", "it is no key").Fix("give source and native id on one line of at most %d bytes", MaxImportKeyBytes)
	case again:
		return nil, problem.Invalidf("key", "%q is there twice", clip(rec.Key, 80)).Fix("give each record a key of its own")
	}
	agent, user := AgentName(rec.Agent), strings.TrimSpace(rec.User)
	if user == "" {
		agent, user = cmp.Or(agent, c.Agent), c.User
	}
	author := c
	author.Agent, author.User, author.Retry = agent, user, ""
	if err := author.valid(); err != nil {
		return nil, err
	}
	created := rec.CreatedAt.UTC().Truncate(time.Microsecond)
	if rec.CreatedAt.IsZero() || created.After(now) {
		created = now
	}
	restore := rec.Restore
	if restore != nil && !c.mayReview() {
		if restore.Status != Live {
			return nil, problem.New(problem.Forbidden, "status", fmt.Sprintf("it is %s, and bringing back what is not in recall needs the reviewer role", restore.Status),
				"ask a reviewer to import it")
		}
		rec.Elements = nil
		for _, e := range restore.Attached {
			if !strings.HasPrefix(e.Reason, reasonByPath) {
				rec.Elements = append(rec.Elements, e.Key)
			}
		}
		restore = nil
	}
	gone := restore != nil && restore.Status == Erased
	if gone && rec.Content == "" {
		rec.Content = "-" // a tombstone has no text; this one is not stored
	}
	d, err := s.draft(c, RememberRequest{Kind: cmp.Or(rec.Kind, Note), Title: rec.Title, Content: rec.Content, Why: rec.Why, Scope: rec.Scope,
		Elements: rec.Elements, Paths: rec.Paths, Tags: rec.Tags, Anchor: rec.Anchor,
		Imported: &Imported{Key: rec.Key, CreatedAt: created, Agent: agent, User: user, Batch: batch}})
	if err != nil {
		return nil, err
	}
	if rec.ExpiresAt != nil {
		at := rec.ExpiresAt.UTC().Truncate(time.Microsecond)
		d.expires = &at
	}
	a := &arriving{draft: d, restore: restore}
	if restore != nil {
		if a.versions, err = a.checkRestore(now); err != nil {
			return nil, err
		}
		d.unreviewed = restore.Unreviewed
	}
	if gone {
		d.Content, d.Title, d.Why, d.Tags, d.Paths, d.Anchor = "", "", "", []string{}, []string{}, nil
	}
	d.index = IndexOf(&Memory{Title: d.Title, Content: d.Content, Why: d.Why, Tags: d.Tags})
	return a, nil
}

// checkRestore refuses what no export of ours says, and cleans the earlier texts as all texts are.
func (a *arriving) checkRestore(now time.Time) ([]StoredVersion, error) {
	r := *a.restore
	bad := func(field, format string, args ...any) error {
		return problem.Invalidf(field, format, args...).Fix("leave it as the export wrote it")
	}
	switch {
	case r.ID == uuid.Nil:
		return nil, bad("id", "the memory has no id")
	case !isHandle(r.Handle):
		return nil, bad("handle", "%q is no handle", clip(r.Handle, 40))
	case !slices.Contains([]Status{Live, Superseded, Retired, Erased, CandidateStatus}, r.Status):
		return nil, bad("status", "%q is no status", clip(string(r.Status), 40))
	case !slices.Contains(origins, r.Origin):
		return nil, bad("origin", "%q is no origin", clip(string(r.Origin), 40))
	case r.Confirmations < 0 || r.Confirmations > maxCount || r.Revision < 1 || r.Revision > maxCount:
		return nil, bad("revision", "a count is not one")
	case len(r.Versions) > maxImportVersions:
		return nil, bad("versions", "%d are more than %d", len(r.Versions), maxImportVersions)
	case len(r.Attached) > MaxElements:
		return nil, bad("attached", "%d elements are more than %d", len(r.Attached), MaxElements)
	}
	if r.Seen != nil && (!oneLine(r.Seen.Commit) || !oneLine(r.Seen.Branch) || !oneLine(r.Seen.Tree)) {
		return nil, bad("seen", "a part of it is no name")
	}
	for _, e := range r.Attached {
		if e.Key == "" || !oneLine(e.Key) || !oneLine(e.Name) || !oneLine(e.Reason) {
			return nil, bad("attached", "%q is no element", clip(e.Key, 80))
		}
	}
	for i := range r.Doubts {
		var err error
		if r.Doubts[i].Reason, _, err = Clean("doubts", r.Doubts[i].Reason, MaxWhyBytes, "shorten it"); err != nil {
			return nil, err
		}
	}
	r.Handle = strings.ToLower(r.Handle)
	clamp := func(t time.Time) time.Time {
		if t = t.UTC().Truncate(time.Microsecond); t.After(now) {
			return now
		}
		return t
	}
	if r.ConfirmedAt = clamp(r.ConfirmedAt); r.ConfirmedAt.Before(a.draft.Imported.CreatedAt) {
		r.ConfirmedAt = a.draft.Imported.CreatedAt
	}
	versions, err := a.earlier(&r, clamp)
	a.restore = &r
	return versions, err
}

// maxCount bounds counts of an export, so that none overflows where it is kept.
const maxCount = 1_000_000

func oneLine(s string) bool {
	return len(s) <= MaxAnchorBytes && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// earlier are the texts before the current one. Where the export has not all of them there is one revision.
func (a *arriving) earlier(r *Restore, clamp func(time.Time) time.Time) ([]StoredVersion, error) {
	if r.Status == Erased && len(r.Versions) == 0 {
		r.Revision = min(r.Revision, maxImportVersions) // tombstones keep their count, without texts
		versions := make([]StoredVersion, r.Revision)
		for i := range versions {
			versions[i] = StoredVersion{Revision: i + 1, At: a.draft.Imported.CreatedAt, Agent: a.draft.Imported.Agent, User: a.draft.Imported.User, Gone: true}
		}
		return versions, nil
	}
	slices.SortFunc(r.Versions, func(a, b RestoredVersion) int { return cmp.Compare(a.Revision, b.Revision) })
	whole := len(r.Versions) == r.Revision
	for i, v := range r.Versions {
		whole = whole && v.Revision == i+1
	}
	if !whole {
		r.Revision = 1
		return nil, nil
	}
	versions := make([]StoredVersion, 0, len(r.Versions))
	for _, v := range r.Versions {
		agent, user := SplitAuthor(v.Author)
		s := StoredVersion{Revision: v.Revision, At: clamp(v.RecordedAt), Agent: agent, User: user, Gone: v.Gone}
		if user == "" || !oneLine(v.Author) || len(v.Author) > 2*MaxNameBytes {
			return nil, problem.Invalidf("versions", "revision %d has no author", v.Revision).Fix("leave it as the export wrote it")
		}
		if !s.Gone {
			d := draft{RememberRequest: RememberRequest{Title: v.Title, Content: v.Content, Why: v.Why, Tags: v.Tags}}
			if err := d.clean(); err != nil {
				return nil, err
			}
			s.Title, s.Content, s.Why, s.Tags = d.Title, d.Content, d.Why, d.Tags
		}
		versions = append(versions, s)
	}
	return versions, nil
}

// SplitAuthor takes an author as it is shown apart: "agent/user", or the user alone.
func SplitAuthor(author string) (agent, user string) {
	if agent, user, ok := strings.Cut(author, "/"); ok {
		return agent, user
	}
	return "", author
}
