package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// entry is an Index in the form the tables hold it.
type entry struct {
	terms, tags []int64 // keyed hashes, sorted and distinct: everybody locks rows in one order
	title       []byte
	text        []byte
}

func (v *view) entry(ix memory.Index) entry {
	return entry{terms: v.hashes(termDomain, ix.Terms), tags: v.hashes(tagDomain, ix.Tags), title: v.titleHash(ix.Title), text: v.hash128(textDomain, ix.Normal)}
}

// word is what is hashed.
type word struct{ domain, text string }

// maxHashed bounds how many a transaction remembers, some five megabytes: one that looks through everything meets every word there is.
const maxHashed = 50_000

// hashes gives the keyed hashes of words. Those of an import are hashed once for each transaction: most occur in many of its memories.
func (v *view) hashes(domain string, texts []string) []int64 {
	if v.hashed == nil || len(v.hashed) > maxHashed {
		v.hashed = map[word]int64{}
	}
	out := make([]int64, len(texts))
	for i, t := range texts {
		h, known := v.hashed[word{domain, t}]
		if !known {
			h = v.keys.Hash64(domain, t)
			v.hashed[word{domain, t}] = h
		}
		out[i] = h
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Insert stores a new memory. A handle or import key that is taken fails the transaction with memory.ErrTaken.
func (t *tx) Insert(_ context.Context, r *memory.Record, at []memory.Attachment, ix memory.Index, sourceKey string, batch uuid.UUID) error {
	if err := t.add(r, addition{at: at, index: ix, key: sourceKey, batch: batch}); err != nil {
		return err
	}
	for _, text := range ix.Links {
		r.Links, r.LinkHashes = append(r.Links, memory.Link{Text: text}), append(r.LinkHashes, t.linkHash(text))
	}
	return nil
}

func (t *tx) spaceOf(r *memory.Record) (*lockedSpace, error) {
	for key, sp := range t.spaces {
		if key.Scope == r.Scope && (r.Scope != memory.Project || key.Owner == r.ProjectID.String()) && (r.Scope != memory.Personal || key.Owner == r.Owner) {
			return sp, nil
		}
	}
	return nil, fmt.Errorf("the space of a %s memory is not held by this transaction", r.Scope)
}

func nullID(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func (t *tx) queueAttach(b *pgx.Batch, id uuid.UUID, at []memory.Attachment, now time.Time) {
	if len(at) == 0 {
		return
	}
	elements, reasons, paths := make([]uuid.UUID, len(at)), make([]string, len(at)), make([]string, len(at))
	for i, a := range at {
		elements[i], reasons[i], paths[i] = a.Element, a.Reason, a.Path
	}
	// The conflict is an attachment taken away and given back in one instant.
	b.Queue(`
		INSERT INTO attachments (org_id, memory_id, element_id, attached_at, reason, path)
		SELECT m.org_id, m.memory_id, a.element, $3, a.reason, a.path
		FROM memories m CROSS JOIN unnest($4::uuid[], $5::text[], $6::text[]) AS a (element, reason, path)
		WHERE m.org_id = $1 AND m.memory_id = $2 AND NOT EXISTS (SELECT 1 FROM attachments o
			WHERE o.org_id = $1 AND o.memory_id = $2 AND o.element_id = a.element AND o.detached_at IS NULL)
		ON CONFLICT (org_id, memory_id, element_id, attached_at) DO UPDATE
		SET detached_at = NULL, reason = excluded.reason, path = excluded.path`, t.org, id, now, elements, reasons, paths)
}

// queuePaths adds the paths of a memory as those of a project's repository; those it has already stay where they are.
func (t *tx) queuePaths(b *pgx.Batch, r *memory.Record, project uuid.UUID) {
	if len(r.Paths) == 0 {
		return
	}
	prefixes := make([]string, len(r.Paths))
	for i, p := range r.Paths {
		prefixes[i] = c4model.StaticPrefix(p)
	}
	b.Queue(`
		INSERT INTO memory_paths (org_id, memory_id, ordinal, pattern, prefix, project_id)
		SELECT o.org_id, $2, p.ordinal, p.pattern, p.prefix, $5
		FROM organizations o CROSS JOIN unnest($3::text[], $4::text[]) WITH ORDINALITY AS p (pattern, prefix, ordinal) WHERE o.org_id = $1
		ON CONFLICT (org_id, memory_id, pattern) DO UPDATE SET ordinal = excluded.ordinal`,
		t.org, r.ID, r.Paths, prefixes, nullID(project))
}

func (v *view) linkHash(text string) []byte { return v.hash128(targetDomain, memory.FoldTarget(text)) }

func (t *tx) queueLinks(b *pgx.Batch, r *memory.Record, ix memory.Index) error {
	links, err := t.linksOf(r, ix)
	queueLinks(b, t.org, links)
	return err
}

// queueIndex puts a memory that is stored into the index of words, as one that is live.
func (t *tx) queueIndex(b *pgx.Batch, r *memory.Record, e entry) {
	b.Queue(`INSERT INTO memory_terms (org_id, space_id, seq, terms, tags) VALUES ($1, $2, $3, $4, $5)`, t.org, r.Space, r.Seq, e.terms, e.tags)
	queueReentry(b, t.org, r.Space, r.Seq, distinct(e.terms, e.tags))
}

// unindex takes a memory out of the index of words, by the terms with which it entered.
func (t *tx) unindex(ctx context.Context, r *memory.Record) error {
	var terms, tags []int64
	err := t.tx.QueryRow(ctx, `DELETE FROM memory_terms WHERE org_id = $1 AND space_id = $2 AND seq = $3 RETURNING terms, tags`,
		t.org, r.Space, r.Seq).Scan(&terms, &tags)
	if postgres.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueRemoval(b, t.org, r.Space, r.Seq, distinct(terms, tags))
	t.pipeline.later(b)
	return nil
}

// Revise stores a new revision and indexes it anew.
func (t *tx) Revise(ctx context.Context, r *memory.Record, ix memory.Index, by memory.Caller, now time.Time) error {
	sealed, err := t.sealBody(r.ID, r.Revision, bodyOf(r))
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO memory_versions (org_id, memory_id, revision, body, recorded_at, agent, user_name) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		t.org, r.ID, r.Revision, sealed, now, by.Agent, by.User)
	b.Queue(`UPDATE memories SET revision = $3, expires_at = $4 WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID, r.Revision, r.ExpiresAt)
	// Whoever changes a memory is answered with all of it.
	b.Queue(`UPDATE impressions SET revision = $4 WHERE org_id = $1 AND memory_id = $2 AND session_id = $3`, t.org, r.ID, by.Session, r.Revision)
	b.Queue(`DELETE FROM memory_paths WHERE org_id = $1 AND memory_id = $2 AND pattern <> ALL ($3::text[])`, t.org, r.ID, notNil(r.Paths))
	t.queuePaths(b, r, by.Project)
	b.Queue(`DELETE FROM links WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	if err := t.queueLinks(b, r, ix); err != nil {
		return err
	}
	t.pipeline.later(b)
	return t.Reindex(ctx, r, ix)
}

// Reindex replaces what a live memory is found by.
func (t *tx) Reindex(ctx context.Context, r *memory.Record, ix memory.Index) error {
	if err := t.unindex(ctx, r); err != nil {
		return fmt.Errorf("leave the index: %w", err)
	}
	e := t.entry(ix)
	b := &pgx.Batch{}
	t.queueIndex(b, r, e)
	b.Queue(`UPDATE memories SET title_hash = $3, text_hash = $4, term_count = $5, reindexed = reindexed + 1 WHERE org_id = $1 AND memory_id = $2`,
		t.org, r.ID, e.title, e.text, len(e.terms))
	t.pipeline.later(b)
	return nil
}

// Confirm records that a memory holds.
func (t *tx) Confirm(_ context.Context, c memory.Confirmation) error {
	seen, keep := memory.Seen{}, c.Seen == nil
	if !keep {
		seen = *c.Seen
	}
	b := &pgx.Batch{}
	b.Queue(`
		UPDATE memories SET confirmed_at = greatest(confirmed_at, $3), confirmations = confirmations + 1, unreviewed = unreviewed AND NOT $4,
			verify = verify AND NOT $5, disputed = disputed AND NOT $5, changed = CASE WHEN $5 THEN 0 ELSE changed END,
			seen_commit = CASE WHEN $6 THEN seen_commit ELSE $7 END, seen_branch = CASE WHEN $6 THEN seen_branch ELSE $8 END,
			seen_tree = CASE WHEN $6 THEN seen_tree ELSE $9 END, seen_assumed = CASE WHEN $6 THEN seen_assumed ELSE $10 END,
			expires_at = CASE WHEN $11 THEN $12 ELSE expires_at END
		WHERE org_id = $1 AND memory_id = $2`,
		t.org, c.Memory, c.At, c.Reviewed, c.ClearDoubts, keep, seen.Commit, seen.Branch, seen.Tree, seen.Assumed, c.SetExpires, c.Expires)
	if c.ClearDoubts {
		b.Queue(`UPDATE doubts SET cleared_at = $3 WHERE org_id = $1 AND memory_id = $2 AND cleared_at IS NULL`, t.org, c.Memory, c.At)
		b.Queue(`UPDATE evidence SET state = 'forgotten' WHERE org_id = $1 AND memory_id = $2 AND state = 'gone'`, t.org, c.Memory)
	}
	t.pipeline.later(b)
	return nil
}

// SetStatus moves a memory in or out of recall, and with it its postings, vectors and the count of its space.
func (t *tx) SetStatus(ctx context.Context, r *memory.Record, status memory.Status, successor uuid.UUID, index *memory.Index) error {
	sp, err := t.held(r.Space)
	if err != nil {
		return err
	}
	change := 0
	if r.Status == memory.Live && status != memory.Live {
		change = -1
		if err := t.unindex(ctx, r); err != nil {
			return err
		}
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories SET status = $3, superseded_by = $4, reindexed = reindexed + 1 WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID, status, nullID(successor))
	if change < 0 {
		b.Queue(`DELETE FROM vectors WHERE org_id = $1 AND space_id = $2 AND seq = $3`, t.org, r.Space, r.Seq)
	}
	if index != nil && r.Status != memory.Live {
		change = 1
		t.queueIndex(b, r, t.entry(*index))
	}
	t.pipeline.later(b)
	r.Status, sp.Live = status, sp.Live+change
	return nil
}

// Erase destroys the texts of every revision, of links and doubts, the paths, vectors and index entries.
func (t *tx) Erase(ctx context.Context, r *memory.Record, now time.Time) error {
	if err := t.SetStatus(ctx, r, memory.Erased, r.Successor, nil); err != nil {
		return err
	}
	// The reason of a doubt is NOT NULL and may quote the text: it is sealed anew as a remark.
	rows, err := t.tx.Query(ctx, `SELECT doubt_id FROM doubts WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	if err != nil {
		return err
	}
	doubts, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, d := range doubts {
		sealed, err := t.keys.Seal(doubtLocation(d), []byte("erased"))
		if err != nil {
			return err
		}
		b.Queue(`UPDATE doubts SET reason = $3, cleared_at = coalesce(cleared_at, $4) WHERE org_id = $1 AND doubt_id = $2`, t.org, d, sealed, now)
	}
	b.Queue(`UPDATE memory_versions SET body = NULL WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	// The record it came from is not taken again: the import that brought it would bring it back.
	b.Queue(`INSERT INTO import_keys (org_id, space_id, source_key, memory_id) SELECT org_id, space_id, source_key, memory_id FROM memories
		WHERE org_id = $1 AND memory_id = $2 AND source_key IS NOT NULL ON CONFLICT DO NOTHING`, t.org, r.ID)
	b.Queue(`UPDATE memories SET title_hash = NULL, text_hash = '', term_count = 0, source_key = NULL, verify = false, disputed = false,
			seen_commit = '', seen_branch = '', seen_tree = ''
		WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	for _, table := range []string{"links", "memory_paths", "remarks", "evidence", "conflicts"} {
		b.Queue(`DELETE FROM `+table+` WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	}
	b.Queue(`DELETE FROM conflicts WHERE org_id = $1 AND other_id = $2`, t.org, r.ID)
	b.Queue(`UPDATE attachments SET path = '' WHERE org_id = $1 AND memory_id = $2`, t.org, r.ID)
	// Why somebody decided about it may quote it.
	b.Queue(`UPDATE review_decisions SET note = NULL WHERE org_id = $1 AND note IS NOT NULL AND decision_id IN (
		SELECT decision_id FROM review_items WHERE org_id = $1 AND memory_id = $2
		UNION ALL SELECT decision_id FROM review_changes WHERE org_id = $1 AND memory_id = $2)`, t.org, r.ID)
	// An outcome tells what its session was about and left to do.
	b.Queue(`UPDATE follow_ups f SET body = NULL, closed_at = coalesce(f.closed_at, $3) FROM work_sessions s
		WHERE f.org_id = $1 AND s.org_id = $1 AND s.session_id = f.session_id AND s.outcome_id = $2`, t.org, r.ID, now)
	b.Queue(`UPDATE work_sessions SET body = NULL WHERE org_id = $1 AND outcome_id = $2`, t.org, r.ID)
	// No stored answer is given any more but that of this write; Write destroys the rest.
	b.Queue(`UPDATE organizations SET erasures = erasures + 1 WHERE org_id = $1`, t.org)
	t.pipeline.later(b)
	t.erasures, t.erased = t.erasures+1, true
	return nil
}

// Attach adds elements.
func (t *tx) Attach(_ context.Context, id uuid.UUID, at []memory.Attachment, now time.Time) error {
	if len(at) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	t.queueAttach(b, id, at, now)
	t.pipeline.later(b)
	return nil
}

// Detach ends attachments; the rows stay as history.
func (t *tx) Detach(ctx context.Context, id uuid.UUID, elements []uuid.UUID, now time.Time) error {
	if len(elements) == 0 {
		return nil
	}
	_, err := t.tx.Exec(ctx, `UPDATE attachments SET detached_at = $4
		WHERE org_id = $1 AND memory_id = $2 AND element_id = ANY ($3) AND detached_at IS NULL`, t.org, id, elements, now)
	return err
}

// OpenDoubt adds a doubt and flags its memory.
func (t *tx) OpenDoubt(_ context.Context, d memory.Doubt) error {
	id := uuid.Must(uuid.NewV7())
	sealed, err := t.keys.Seal(doubtLocation(id), []byte(d.Reason))
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO doubts (org_id, doubt_id, memory_id, cause, element_id, since, reason, stamp_id, origin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		t.org, id, d.Memory, d.Cause, nullID(d.Element), d.Since, sealed, nullID(d.Stamp), d.Origin)
	b.Queue(`UPDATE memories SET verify = verify OR $3 <> 'disputed', disputed = disputed OR $3 = 'disputed' WHERE org_id = $1 AND memory_id = $2`,
		t.org, d.Memory, d.Cause)
	t.pipeline.later(b)
	return nil
}

// Remark keeps what somebody said, sealed.
func (t *tx) Remark(_ context.Context, id uuid.UUID, text string, at time.Time) error {
	remark := uuid.Must(uuid.NewV7())
	sealed, err := t.keys.Seal(remarkLocation(remark), []byte(text))
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO remarks (org_id, remark_id, memory_id, at, body) VALUES ($1, $2, $3, $4, $5)`, t.org, remark, id, at, sealed)
	t.pipeline.later(b)
	return nil
}

// Cite records that a session relied on a memory, once; memories.citations counts the rows. A cited memory is reviewed.
func (t *tx) Cite(ctx context.Context, id uuid.UUID, session string, observed bool, now time.Time) error {
	tag, err := t.tx.Exec(ctx, `INSERT INTO citations (org_id, memory_id, session_id, cited_at, observed) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (org_id, memory_id, session_id) DO NOTHING`, t.org, id, session, now, observed)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		if !observed { // what was only seen is now said
			_, err = t.tx.Exec(ctx, `UPDATE citations SET observed = false WHERE org_id = $1 AND memory_id = $2 AND session_id = $3 AND observed`, t.org, id, session)
		}
		return err
	}
	_, err = t.tx.Exec(ctx, `UPDATE memories SET citations = citations + 1, unreviewed = false WHERE org_id = $1 AND memory_id = $2`, t.org, id)
	return err
}

// SetVector stores a vector of a live memory, with the memory when that is not sent yet.
func (t *tx) SetVector(_ context.Context, space, seq int32, model string, vector []float32) error {
	v := fresh{vectors: []newVector{{model, space, seq, vector}}}
	for m := range t.waiting() {
		if m.Space == space && m.Seq == seq {
			t.pipeline.own.take(&v)
			return nil
		}
	}
	b := &pgx.Batch{}
	v.queue(b, t.org)
	t.pipeline.later(b)
	return nil
}

// Audit appends to the trail. Each line is the next event of its space.
func (t *tx) Audit(_ context.Context, by memory.Caller, entries ...memory.AuditEntry) error {
	for _, e := range entries {
		sp, err := t.eventSpace(by, e)
		if err != nil {
			return err
		}
		if err := t.addEntry(by, e, sp); err != nil {
			return err
		}
	}
	return nil
}

// eventSpace is the space that an entry is an event of; see memory.AuditEntry.Space.
func (t *tx) eventSpace(by memory.Caller, e memory.AuditEntry) (*lockedSpace, error) {
	if e.Space != 0 {
		return t.held(e.Space)
	}
	if sp := t.spaces[memory.SpaceKey{Scope: memory.Project, Owner: by.Project.String()}]; sp != nil {
		return sp, nil
	}
	if len(t.spaces) == 1 {
		for _, sp := range t.spaces {
			return sp, nil
		}
	}
	return nil, fmt.Errorf("the entry %s does not say which of %d spaces it belongs to", e.Verb, len(t.spaces))
}
