package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// fresh are rows that a transaction adds and has not sent: new memories with all that belongs to them, vectors, and lines of the trail.
// They are sent a table at a time, as columns, whether one memory is remembered, sixteen writers share the transaction, or hundreds are
// imported: a statement costs more than the row it adds, and a word that several memories have is counted once for all. A copy of it is
// a mark: what is added later does not show in it. Its zero value is empty.
type fresh struct {
	memories    []newMemory
	versions    []newVersion
	attachments []newAttachment
	paths       []newPath
	links       []newLink
	citations   []newCitation
	vectors     []newVector
	entries     []newEntry
}

type newMemory struct {
	memory.Record
	found  entry // what it is found by
	seen   memory.Seen
	source []byte
	batch  uuid.UUID
}

type newVersion struct {
	memory      uuid.UUID
	revision    int32
	body        []byte
	at          time.Time
	agent, user string
}

type newAttachment struct {
	memory uuid.UUID
	at     time.Time
	memory.Attachment
}

type newPath struct {
	memory  uuid.UUID
	ordinal int32
	pattern string
	project uuid.UUID
}

type newLink struct {
	memory       uuid.UUID
	ordinal      int32
	hash, target []byte
}

type newCitation struct {
	memory  uuid.UUID
	session string
	at      time.Time
}

type newVector struct {
	model      string
	space, seq int32
	embedding  []float32
}

type newEntry struct {
	memory.AuditEntry
	project                    uuid.UUID
	agent, user, door, session string
	detail                     string // JSON
	event                      int64
}

// addition is what belongs to a new memory beside its record.
type addition struct {
	at       []memory.Attachment
	index    memory.Index
	key      string // of the record it was imported from
	batch    uuid.UUID
	versions []memory.StoredVersion // none = the record is the only one
	citedBy  []string
}

// add takes a new memory in, and gives it its space and number. Scope and owner follow from the record; the caller took the space for
// this transaction.
func (t *tx) add(r *memory.Record, a addition) error {
	sp, err := t.spaceOf(r)
	if err != nil {
		return err
	}
	f := &t.pipeline.own
	r.Space, r.Seq = sp.ID, sp.nextSeq
	sp.nextSeq++
	m := newMemory{Record: *r, batch: a.batch, found: entry{text: []byte{}}}
	if r.Seen != nil {
		m.seen = *r.Seen
	}
	if a.key != "" {
		m.source = t.hash128(sourceDomain, a.key)
	}
	if r.Status != memory.Erased {
		m.found = t.entry(a.index)
		links, err := t.linksOf(r, a.index)
		if err != nil {
			return err
		}
		f.links = append(f.links, links...)
	}
	if r.Status == memory.Live {
		sp.Live++
	}
	f.memories = append(f.memories, m)
	if err := t.addVersions(r, a.versions); err != nil {
		return err
	}
	for _, at := range a.at {
		f.attachments = append(f.attachments, newAttachment{r.ID, r.CreatedAt, at})
	}
	for i, p := range r.Paths {
		f.paths = append(f.paths, newPath{r.ID, int32(i + 1), p, r.ProjectID})
	}
	for _, session := range a.citedBy {
		f.citations = append(f.citations, newCitation{r.ID, session, r.ConfirmedAt})
	}
	return nil
}

// addVersions seals the texts of all revisions.
func (t *tx) addVersions(r *memory.Record, versions []memory.StoredVersion) error {
	if len(versions) == 0 {
		versions = []memory.StoredVersion{{Revision: r.Revision, At: r.CreatedAt, Agent: r.Agent, User: r.User, Gone: r.Status == memory.Erased}}
	}
	f := &t.pipeline.own
	for _, v := range versions {
		text := body{Title: v.Title, Content: v.Content, Why: v.Why, Tags: v.Tags}
		if v.Revision == r.Revision {
			text = bodyOf(r)
		}
		var sealed []byte
		if !v.Gone {
			var err error
			if sealed, err = t.sealBody(r.ID, v.Revision, text); err != nil {
				return err
			}
		}
		f.versions = append(f.versions, newVersion{r.ID, int32(v.Revision), sealed, v.At, v.Agent, v.User}) //nolint:gosec // bounded by the domain
	}
	return nil
}

// linksOf seals the links of a text.
func (t *tx) linksOf(r *memory.Record, ix memory.Index) ([]newLink, error) {
	out := make([]newLink, len(ix.Links))
	for i, text := range ix.Links {
		target, err := t.keys.Seal(linkLocation(r.ID, i), []byte(text))
		if err != nil {
			return nil, err
		}
		out[i] = newLink{r.ID, int32(i), t.linkHash(text), target}
	}
	return out, nil
}

// addEntry takes in a line of the trail, which is the next event of a space.
func (t *tx) addEntry(by memory.Caller, e memory.AuditEntry, sp *lockedSpace) error {
	detail := e.Detail
	if detail == nil {
		detail = map[string]string{}
	}
	encoded, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("entry of the trail: %w", err)
	}
	e.Space = sp.ID
	t.pipeline.own.entries = append(t.pipeline.own.entries, newEntry{AuditEntry: e, project: by.Project, agent: by.Agent, user: by.User,
		door: string(by.Door), session: by.Session, detail: string(encoded), event: sp.nextEvent})
	sp.nextEvent++
	return nil
}

// empty tells whether there is nothing to send.
func (f *fresh) empty() bool { return len(f.memories)+len(f.vectors)+len(f.entries) == 0 }

// take adds the rows of another.
func (f *fresh) take(o *fresh) {
	f.memories, f.versions = append(f.memories, o.memories...), append(f.versions, o.versions...)
	f.attachments, f.paths = append(f.attachments, o.attachments...), append(f.paths, o.paths...)
	f.links, f.citations = append(f.links, o.links...), append(f.citations, o.citations...)
	f.vectors, f.entries = append(f.vectors, o.vectors...), append(f.entries, o.entries...)
}

// column takes one value of each row.
func column[R, T any](rows []R, of func(*R) T) []T {
	out := make([]T, len(rows))
	for i := range rows {
		out[i] = of(&rows[i])
	}
	return out
}

// queue puts the statements that add the rows to a batch.
func (f *fresh) queue(b *pgx.Batch, org uuid.UUID) {
	if len(f.memories) > 0 {
		f.queueMemories(b, org)
		f.queueParts(b, org)
		f.queueIndex(b, org)
	}
	for _, v := range f.vectors {
		b.Queue(`INSERT INTO vectors (org_id, model, space_id, seq, embedding) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (org_id, model, space_id, seq) DO UPDATE SET embedding = excluded.embedding`,
			org, v.model, v.space, v.seq, pgvector.NewHalfVector(v.embedding))
	}
	if len(f.entries) > 0 {
		f.queueEntries(b, org)
	}
}

// queueMemories adds the memories. Like every insert of many rows here it begins at the row of the organization, so that Citus sends it to
// where that lies: rows of no table it would copy there by itself, which row-level security refuses.
func (f *fresh) queueMemories(b *pgx.Batch, org uuid.UUID) {
	m := f.memories
	text := func(of func(*newMemory) string) []string { return column(m, of) }
	number := func(of func(*newMemory) int) []int32 {
		return column(m, func(r *newMemory) int32 { return int32(of(r)) }) //nolint:gosec // counts that the domain bounds
	}
	b.Queue(`
		INSERT INTO memories (org_id, memory_id, space_id, seq, project_id, handle, kind, status, agent, user_name, origin, source_key, batch_id,
			unreviewed, created_at, confirmed_at, confirmations, citations, ignored_by, revision, superseded_by, expires_at, title_hash, text_hash,
			term_count, seen_commit, seen_branch, seen_tree, seen_assumed)
		SELECT o.org_id, m.*
		FROM organizations o CROSS JOIN unnest($2::uuid[], $3::int[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
			$12::bytea[], $13::uuid[], $14::bool[], $15::timestamptz[], $16::timestamptz[], $17::int[], $18::int[], $19::int[], $20::int[], $21::uuid[],
			$22::timestamptz[], $23::bytea[], $24::bytea[], $25::int[], $26::text[], $27::text[], $28::text[], $29::bool[]) AS m
		WHERE o.org_id = $1`,
		org, column(m, func(r *newMemory) uuid.UUID { return r.ID }),
		column(m, func(r *newMemory) int32 { return r.Space }), column(m, func(r *newMemory) int32 { return r.Seq }),
		column(m, func(r *newMemory) *uuid.UUID { return nullID(r.ProjectID) }),
		text(func(r *newMemory) string { return r.Handle }), text(func(r *newMemory) string { return string(r.Kind) }),
		text(func(r *newMemory) string { return string(r.Status) }), text(func(r *newMemory) string { return r.Agent }),
		text(func(r *newMemory) string { return r.User }), text(func(r *newMemory) string { return string(r.Origin) }),
		column(m, func(r *newMemory) []byte { return r.source }), column(m, func(r *newMemory) *uuid.UUID { return nullID(r.batch) }),
		column(m, func(r *newMemory) bool { return r.Unreviewed }),
		column(m, func(r *newMemory) time.Time { return r.CreatedAt }), column(m, func(r *newMemory) time.Time { return r.ConfirmedAt }),
		number(func(r *newMemory) int { return r.Confirmations }), number(func(r *newMemory) int { return r.Citations }),
		number(func(r *newMemory) int { return r.IgnoredBy }), number(func(r *newMemory) int { return r.Revision }),
		column(m, func(r *newMemory) *uuid.UUID { return nullID(r.Successor) }), column(m, func(r *newMemory) *time.Time { return r.ExpiresAt }),
		column(m, func(r *newMemory) []byte { return r.found.title }), column(m, func(r *newMemory) []byte { return r.found.text }),
		number(func(r *newMemory) int { return len(r.found.terms) }),
		text(func(r *newMemory) string { return r.seen.Commit }), text(func(r *newMemory) string { return r.seen.Branch }),
		text(func(r *newMemory) string { return r.seen.Tree }), column(m, func(r *newMemory) bool { return r.seen.Assumed }))
}

// queueParts adds what is kept beside the memories.
func (f *fresh) queueParts(b *pgx.Batch, org uuid.UUID) {
	b.Queue(`INSERT INTO memory_versions (org_id, memory_id, revision, body, recorded_at, agent, user_name)
		SELECT o.org_id, v.* FROM organizations o CROSS JOIN unnest($2::uuid[], $3::int[], $4::bytea[], $5::timestamptz[], $6::text[], $7::text[]) AS v WHERE o.org_id = $1`,
		org, column(f.versions, func(v *newVersion) uuid.UUID { return v.memory }), column(f.versions, func(v *newVersion) int32 { return v.revision }),
		column(f.versions, func(v *newVersion) []byte { return v.body }), column(f.versions, func(v *newVersion) time.Time { return v.at }),
		column(f.versions, func(v *newVersion) string { return v.agent }), column(f.versions, func(v *newVersion) string { return v.user }))
	if a := f.attachments; len(a) > 0 {
		b.Queue(`INSERT INTO attachments (org_id, memory_id, element_id, attached_at, reason, path)
			SELECT o.org_id, a.* FROM organizations o CROSS JOIN unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[]) AS a WHERE o.org_id = $1`,
			org, column(a, func(a *newAttachment) uuid.UUID { return a.memory }), column(a, func(a *newAttachment) uuid.UUID { return a.Element }),
			column(a, func(a *newAttachment) time.Time { return a.at }), column(a, func(a *newAttachment) string { return a.Reason }),
			column(a, func(a *newAttachment) string { return a.Path }))
	}
	if p := f.paths; len(p) > 0 {
		b.Queue(`INSERT INTO memory_paths (org_id, memory_id, ordinal, pattern, prefix, project_id)
			SELECT o.org_id, p.* FROM organizations o CROSS JOIN unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::uuid[]) AS p WHERE o.org_id = $1`,
			org, column(p, func(p *newPath) uuid.UUID { return p.memory }), column(p, func(p *newPath) int32 { return p.ordinal }),
			column(p, func(p *newPath) string { return p.pattern }), column(p, func(p *newPath) string { return c4model.StaticPrefix(p.pattern) }),
			column(p, func(p *newPath) *uuid.UUID { return nullID(p.project) }))
	}
	queueLinks(b, org, f.links)
	if c := f.citations; len(c) > 0 {
		b.Queue(`INSERT INTO citations (org_id, memory_id, session_id, cited_at, observed)
			SELECT o.org_id, c.*, false FROM organizations o CROSS JOIN unnest($2::uuid[], $3::text[], $4::timestamptz[]) AS c WHERE o.org_id = $1`,
			org, column(c, func(c *newCitation) uuid.UUID { return c.memory }), column(c, func(c *newCitation) string { return c.session }),
			column(c, func(c *newCitation) time.Time { return c.at }))
	}
}

func queueLinks(b *pgx.Batch, org uuid.UUID, l []newLink) {
	if len(l) == 0 {
		return
	}
	b.Queue(`INSERT INTO links (org_id, memory_id, ordinal, target_hash, target)
		SELECT o.org_id, l.* FROM organizations o CROSS JOIN unnest($2::uuid[], $3::int[], $4::bytea[], $5::bytea[]) AS l WHERE o.org_id = $1`,
		org, column(l, func(l *newLink) uuid.UUID { return l.memory }), column(l, func(l *newLink) int32 { return l.ordinal }),
		column(l, func(l *newLink) []byte { return l.hash }), column(l, func(l *newLink) []byte { return l.target }))
}

// queueIndex puts the live memories into the index of words.
func (f *fresh) queueIndex(b *pgx.Batch, org uuid.UUID) {
	var postings []posting
	var spaces, seqs, first, tags, last []int32 // of memory_terms: the terms of a memory are all[first:tags], its tags all[tags:last]
	all := []int64{}                            // NULL has no parts
	for i := range f.memories {
		m := &f.memories[i]
		if m.Status != memory.Live {
			continue
		}
		spaces, seqs, first = append(spaces, m.Space), append(seqs, m.Seq), append(first, int32(len(all))) //nolint:gosec // of some hundred texts
		all = append(all, m.found.terms...)
		tags = append(tags, int32(len(all))) //nolint:gosec // of some hundred texts
		all = append(all, m.found.tags...)
		last = append(last, int32(len(all))) //nolint:gosec // of some hundred texts
		for _, term := range all[first[len(first)-1]:] {
			postings = append(postings, posting{m.Space, term, m.Seq})
		}
	}
	if len(seqs) == 0 {
		return
	}
	b.Queue(`INSERT INTO memory_terms (org_id, space_id, seq, terms, tags)
		SELECT o.org_id, m.space, m.seq, ($7::bigint[])[m.first + 1 : m.tags], ($7::bigint[])[m.tags + 1 : m.last]
		FROM organizations o CROSS JOIN unnest($2::int[], $3::int[], $4::int[], $5::int[], $6::int[]) AS m (space, seq, first, tags, last)
		WHERE o.org_id = $1`, org, spaces, seqs, first, tags, last, all)
	queuePostings(b, org, postings)
}

func (f *fresh) queueEntries(b *pgx.Batch, org uuid.UUID) {
	e := f.entries
	text := func(of func(*newEntry) string) []string { return column(e, of) }
	b.Queue(`
		INSERT INTO audit (org_id, audit_id, at, verb, subject_id, project_id, revision, agent, user_name, door, session_id, detail, space_id, event)
		SELECT o.org_id, e.id, e.at, e.verb, e.subject, e.project, e.revision, e.agent, e.user_name, e.door, e.session, e.detail::jsonb, e.space, e.event
		FROM organizations o CROSS JOIN unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::uuid[], $6::uuid[], $7::int[], $8::text[], $9::text[], $10::text[], $11::text[],
			$12::text[], $13::int[], $14::bigint[])
			AS e (id, at, verb, subject, project, revision, agent, user_name, door, session, detail, space, event)
		WHERE o.org_id = $1`,
		org, column(e, func(*newEntry) uuid.UUID { return uuid.Must(uuid.NewV7()) }), column(e, func(e *newEntry) time.Time { return e.At }),
		text(func(e *newEntry) string { return string(e.Verb) }), column(e, func(e *newEntry) *uuid.UUID { return nullID(e.Subject) }),
		column(e, func(e *newEntry) *uuid.UUID { return nullID(e.project) }),
		column(e, func(e *newEntry) int32 { return int32(e.Revision) }), //nolint:gosec // bounded by the domain
		text(func(e *newEntry) string { return e.agent }), text(func(e *newEntry) string { return e.user }),
		text(func(e *newEntry) string { return e.door }), text(func(e *newEntry) string { return e.session }),
		text(func(e *newEntry) string { return e.detail }), column(e, func(e *newEntry) int32 { return e.Space }),
		column(e, func(e *newEntry) int64 { return e.event }))
}
