package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// What an import asks and stores: the same rows as Insert and Audit write, a table at a time for hundreds of memories.

// ImportedAs tells which memories records of these keys became, in any space.
func (t *tx) ImportedAs(ctx context.Context, keys []string) ([]memory.ImportedAs, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	hashes, byHash := make([][]byte, len(keys)), make(map[string]string, len(keys))
	for i, key := range keys {
		hashes[i] = t.hash128(sourceDomain, key)
		byHash[string(hashes[i])] = key
	}
	rows, err := t.tx.Query(ctx, `
		WITH keys AS (SELECT DISTINCT key FROM unnest($2::bytea[]) AS key)
		SELECT k.key, m.space_id, m.memory_id, m.handle FROM spaces s CROSS JOIN keys k
			JOIN memories m ON m.org_id = $1 AND m.space_id = s.space_id AND m.source_key = k.key WHERE s.org_id = $1
		UNION ALL
		SELECT k.key, i.space_id, m.memory_id, m.handle FROM spaces s CROSS JOIN keys k
			JOIN import_keys i ON i.org_id = $1 AND i.space_id = s.space_id AND i.source_key = k.key
			JOIN memories m ON m.org_id = $1 AND m.memory_id = i.memory_id WHERE s.org_id = $1`, t.org, hashes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.ImportedAs, error) {
		var k memory.ImportedAs
		var hash []byte
		err := row.Scan(&hash, &k.Space, &k.Memory, &k.Handle)
		k.Key = byHash[string(hash)]
		return k, err
	})
}

// SameTexts gives the live memories of a space with one of the normalised texts, oldest first.
func (t *tx) SameTexts(ctx context.Context, space int32, normals []string) ([]uuid.UUID, error) {
	hashes := make([][]byte, len(normals))
	for i, n := range normals {
		hashes[i] = t.hash128(textDomain, n)
	}
	rows, err := t.tx.Query(ctx, `SELECT m.memory_id FROM (SELECT DISTINCT hash FROM unnest($3::bytea[]) AS hash) h
		JOIN memories m ON m.org_id = $1 AND m.space_id = $2 AND m.text_hash = h.hash AND m.status = 'live' ORDER BY m.memory_id`, t.org, space, hashes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// TitlesTaken gives those of the titles that live memories of a space bear.
func (t *tx) TitlesTaken(ctx context.Context, space int32, folded []string) (map[string]string, error) {
	hashes, byHash := make([][]byte, len(folded)), make(map[string]string, len(folded))
	for i, title := range folded {
		hashes[i] = t.titleHash(title)
		byHash[string(hashes[i])] = title
	}
	rows, err := t.tx.Query(ctx, `SELECT m.title_hash, m.handle FROM (SELECT DISTINCT hash FROM unnest($3::bytea[]) AS hash) h
		JOIN memories m ON m.org_id = $1 AND m.space_id = $2 AND m.title_hash = h.hash AND m.status = 'live'`, t.org, space, hashes)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	err = each(rows, func() error {
		var hash []byte
		var handle string
		err := rows.Scan(&hash, &handle)
		out[byHash[string(hash)]] = handle
		return err
	})
	return out, err
}

// Holders gives the memories that have one of the ids or handles, in any space.
func (t *tx) Holders(ctx context.Context, ids []uuid.UUID, handles []string) ([]memory.Holder, error) {
	if len(ids)+len(handles) == 0 {
		return nil, nil
	}
	rows, err := t.tx.Query(ctx, `
		SELECT memory_id, handle, space_id FROM memories WHERE org_id = $1 AND memory_id = ANY ($2)
		UNION SELECT memory_id, handle, space_id FROM memories WHERE org_id = $1 AND handle = ANY ($3)`, t.org, ids, notNil(handles))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[memory.Holder])
}

// SetConfirmed says when a memory was last confirmed, and how often.
func (t *tx) SetConfirmed(_ context.Context, id uuid.UUID, at time.Time, confirmations int) error {
	b := &pgx.Batch{}
	b.Queue(`UPDATE memories SET confirmed_at = $3, confirmations = $4 WHERE org_id = $1 AND memory_id = $2`, t.org, id, at, confirmations)
	t.pipeline.later(b)
	return nil
}

// KeepKeys keeps that records of these keys were merged.
func (t *tx) KeepKeys(_ context.Context, space int32, merged map[string]uuid.UUID) error {
	hashes, ids := make([][]byte, 0, len(merged)), make([]uuid.UUID, 0, len(merged))
	for key, id := range merged {
		hashes, ids = append(hashes, t.hash128(sourceDomain, key)), append(ids, id)
	}
	b := &pgx.Batch{}
	b.Queue(`INSERT INTO import_keys (org_id, space_id, source_key, memory_id)
		SELECT $1, $2, k.hash, k.id FROM unnest($3::bytea[], $4::uuid[]) AS k (hash, id) ON CONFLICT DO NOTHING`, t.org, space, hashes, ids)
	t.pipeline.later(b)
	return nil
}

// AddFormerElements adds elements as ones that left the model.
func (t *tx) AddFormerElements(_ context.Context, project uuid.UUID, elements []memory.Element, now time.Time) error {
	delete(t.models, project)
	b := &pgx.Batch{}
	for _, e := range elements {
		b.Queue(`INSERT INTO elements (org_id, project_id, element_id, key, folded_key, name, folded_name, level, in_scope, ordinal, created_at, removed_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, false, $9, $10, $10)`,
			t.org, project, e.ID, e.Key, c4model.FoldKey(e.Key), e.Name, c4model.FoldName(e.Name), e.Level, e.Ordinal, now)
	}
	t.pipeline.later(b)
	return nil
}

// columns collects the rows of all memories, a slice for each column.
type columns struct {
	ids, projects, successors, batches                 []*uuid.UUID
	spaces, seqs, confirmations, revisions, termCounts []int32
	handles, kinds, statuses, agents, users, origins   []string
	sources, titles, texts                             [][]byte
	unreviewed, assumed                                []bool
	created, confirmed                                 []time.Time
	expires                                            []*time.Time
	commits, branches, trees                           []string
}

// InsertAll stores memories with everything that belongs to them; see memory.Insertion.
func (t *tx) InsertAll(_ context.Context, by memory.Caller, all []memory.Insertion) error {
	if len(all) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	if err := t.queueMemories(b, all); err != nil {
		return err
	}
	if err := t.queueVersions(b, all); err != nil {
		return err
	}
	t.queueAttachments(b, all)
	t.queueAllPaths(b, all, by.Project)
	for i := range all {
		if all[i].Record.Status == memory.Erased {
			continue
		}
		if err := t.queueLinks(b, all[i].Record, all[i].Index); err != nil {
			return err
		}
	}
	t.queueAllIndexes(b, all)
	if err := t.queueAudit(b, by, all); err != nil {
		return err
	}
	live := map[int32]int{}
	for i := range all {
		if r := all[i].Record; r.Status == memory.Live {
			live[r.Space]++
		}
	}
	for _, sp := range t.spaces {
		sp.Live += live[sp.ID]
		b.Queue(`UPDATE spaces SET next_seq = $3, live = live + $4, next_event = $5 WHERE org_id = $1 AND space_id = $2`, t.org, sp.ID, sp.nextSeq, live[sp.ID], sp.nextEvent)
	}
	t.pipeline.later(b)
	return nil
}

func (t *tx) queueMemories(b *pgx.Batch, all []memory.Insertion) error {
	var c columns
	for i := range all {
		r := all[i].Record
		sp, err := t.spaceOf(r)
		if err != nil {
			return err
		}
		r.Space, r.Seq = sp.ID, sp.nextSeq
		sp.nextSeq++
		e := t.entry(all[i].Index)
		if r.Status == memory.Erased {
			e = entry{text: []byte{}}
		}
		var source []byte
		if all[i].Key != "" {
			source = t.hash128(sourceDomain, all[i].Key)
		}
		seen := memory.Seen{}
		if r.Seen != nil {
			seen = *r.Seen
		}
		c.ids, c.projects, c.successors = append(c.ids, &r.ID), append(c.projects, nullID(r.ProjectID)), append(c.successors, nullID(r.Successor))
		c.spaces, c.seqs = append(c.spaces, r.Space), append(c.seqs, r.Seq)
		c.confirmations, c.revisions = append(c.confirmations, int32(r.Confirmations)), append(c.revisions, int32(r.Revision)) //nolint:gosec // bounded by the domain
		c.termCounts = append(c.termCounts, int32(len(e.terms)))                                                               //nolint:gosec // a text has fewer
		c.handles, c.kinds, c.statuses = append(c.handles, r.Handle), append(c.kinds, string(r.Kind)), append(c.statuses, string(r.Status))
		c.agents, c.users, c.origins = append(c.agents, r.Agent), append(c.users, r.User), append(c.origins, string(r.Origin))
		c.sources, c.titles, c.texts = append(c.sources, source), append(c.titles, e.title), append(c.texts, e.text)
		c.batches, c.unreviewed, c.assumed = append(c.batches, nullID(all[i].Batch)), append(c.unreviewed, r.Unreviewed), append(c.assumed, seen.Assumed)
		c.created, c.confirmed, c.expires = append(c.created, r.CreatedAt), append(c.confirmed, r.ConfirmedAt), append(c.expires, r.ExpiresAt)
		c.commits, c.branches, c.trees = append(c.commits, seen.Commit), append(c.branches, seen.Branch), append(c.trees, seen.Tree)
	}
	b.Queue(`
		INSERT INTO memories (org_id, memory_id, space_id, seq, project_id, handle, kind, status, agent, user_name, origin, source_key, batch_id,
			unreviewed, created_at, confirmed_at, confirmations, revision, superseded_by, expires_at, title_hash, text_hash, term_count,
			seen_commit, seen_branch, seen_tree, seen_assumed)
		SELECT $1, m.* FROM unnest($2::uuid[], $3::int[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
			$12::bytea[], $13::uuid[], $14::bool[], $15::timestamptz[], $16::timestamptz[], $17::int[], $18::int[], $19::uuid[], $20::timestamptz[],
			$21::bytea[], $22::bytea[], $23::int[], $24::text[], $25::text[], $26::text[], $27::bool[]) AS m`,
		t.org, c.ids, c.spaces, c.seqs, c.projects, c.handles, c.kinds, c.statuses, c.agents, c.users, c.origins, c.sources, c.batches,
		c.unreviewed, c.created, c.confirmed, c.confirmations, c.revisions, c.successors, c.expires, c.titles, c.texts, c.termCounts,
		c.commits, c.branches, c.trees, c.assumed)
	return nil
}

func (t *tx) queueVersions(b *pgx.Batch, all []memory.Insertion) error {
	var ids []uuid.UUID
	var revisions []int32
	var bodies [][]byte
	var at []time.Time
	var agents, users []string
	add := func(id uuid.UUID, revision int, sealed []byte, when time.Time, agent, user string) {
		ids, revisions, bodies = append(ids, id), append(revisions, int32(revision)), append(bodies, sealed) //nolint:gosec // bounded by the domain
		at, agents, users = append(at, when), append(agents, agent), append(users, user)
	}
	for i := range all {
		r := all[i].Record
		versions := all[i].Versions
		if len(versions) == 0 {
			versions = []memory.StoredVersion{{Revision: r.Revision, At: r.CreatedAt, Agent: r.Agent, User: r.User, Gone: r.Status == memory.Erased}}
		}
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
			add(r.ID, v.Revision, sealed, v.At, v.Agent, v.User)
		}
	}
	b.Queue(`INSERT INTO memory_versions (org_id, memory_id, revision, body, recorded_at, agent, user_name)
		SELECT $1, v.* FROM unnest($2::uuid[], $3::int[], $4::bytea[], $5::timestamptz[], $6::text[], $7::text[]) AS v`,
		t.org, ids, revisions, bodies, at, agents, users)
	return nil
}

func (t *tx) queueAttachments(b *pgx.Batch, all []memory.Insertion) {
	var ids, elements []uuid.UUID
	var at []time.Time
	var reasons, paths []string
	for i := range all {
		for _, a := range all[i].At {
			ids, elements = append(ids, all[i].Record.ID), append(elements, a.Element)
			at, reasons, paths = append(at, all[i].Record.CreatedAt), append(reasons, a.Reason), append(paths, a.Path)
		}
	}
	if len(ids) > 0 {
		b.Queue(`INSERT INTO attachments (org_id, memory_id, element_id, attached_at, reason, path)
			SELECT $1, a.* FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[]) AS a`, t.org, ids, elements, at, reasons, paths)
	}
}

func (t *tx) queueAllPaths(b *pgx.Batch, all []memory.Insertion, project uuid.UUID) {
	var ids []uuid.UUID
	var ordinals []int32
	var patterns, prefixes []string
	for i := range all {
		for n, p := range all[i].Record.Paths {
			ids, ordinals = append(ids, all[i].Record.ID), append(ordinals, int32(n+1))
			patterns, prefixes = append(patterns, p), append(prefixes, c4model.StaticPrefix(p))
		}
	}
	if len(ids) > 0 {
		b.Queue(`INSERT INTO memory_paths (org_id, memory_id, ordinal, pattern, prefix, project_id)
			SELECT $1, p.id, p.ordinal, p.pattern, p.prefix, $6 FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS p (id, ordinal, pattern, prefix)`,
			t.org, ids, ordinals, patterns, prefixes, nullID(project))
	}
}

// queueAllIndexes puts the live ones into the postings, and counts each word once for all of them.
func (t *tx) queueAllIndexes(b *pgx.Batch, all []memory.Insertion) {
	type words struct {
		terms []int64
		seqs  []int32
		count map[int64]int32
	}
	spaces := map[int32]*words{}
	for i := range all {
		r := all[i].Record
		if r.Status != memory.Live {
			continue
		}
		e := t.entry(all[i].Index)
		w := spaces[r.Space]
		if w == nil {
			w = &words{count: map[int64]int32{}}
			spaces[r.Space] = w
		}
		for _, term := range append(slices.Clone(e.terms), e.tags...) {
			w.terms, w.seqs = append(w.terms, term), append(w.seqs, r.Seq)
		}
		for _, term := range e.terms {
			w.count[term]++
		}
		b.Queue(`INSERT INTO memory_terms (org_id, space_id, seq, terms, tags) VALUES ($1, $2, $3, $4, $5)`, t.org, r.Space, r.Seq, e.terms, e.tags)
	}
	for space, w := range spaces {
		b.Queue(`INSERT INTO postings (org_id, space_id, term, seq) SELECT $1, $2, p.* FROM unnest($3::bigint[], $4::int[]) AS p ORDER BY 3, 4`,
			t.org, space, w.terms, w.seqs)
		var distinct []int64
		for term := range w.count {
			distinct = append(distinct, term)
		}
		slices.Sort(distinct)
		counts := make([]int32, len(distinct))
		for i, term := range distinct {
			counts[i] = w.count[term]
		}
		b.Queue(`INSERT INTO term_frequencies (org_id, space_id, term, df) SELECT $1, $2, f.* FROM unnest($3::bigint[], $4::int[]) AS f
			ON CONFLICT (org_id, space_id, term) DO UPDATE SET df = term_frequencies.df + excluded.df`, t.org, space, distinct, counts)
	}
}

// queueAudit appends to the trail as Audit does. Space of an entry is that of its memory.
func (t *tx) queueAudit(b *pgx.Batch, by memory.Caller, all []memory.Insertion) error {
	var ids, subjects []uuid.UUID
	var at []time.Time
	var verbs []string
	var revisions, spaces []int32
	var details [][]byte
	var events []int64
	for i := range all {
		sp, err := t.held(all[i].Record.Space)
		if err != nil {
			return err
		}
		for _, e := range all[i].Audit {
			detail := e.Detail
			if detail == nil {
				detail = map[string]string{}
			}
			encoded, err := json.Marshal(detail)
			if err != nil {
				return fmt.Errorf("entry of the trail: %w", err)
			}
			ids, subjects = append(ids, uuid.Must(uuid.NewV7())), append(subjects, e.Subject)
			at, verbs, revisions = append(at, e.At), append(verbs, string(e.Verb)), append(revisions, int32(e.Revision)) //nolint:gosec // bounded by the domain
			details, spaces, events = append(details, encoded), append(spaces, sp.ID), append(events, sp.nextEvent)
			sp.nextEvent++
		}
	}
	b.Queue(`INSERT INTO audit (org_id, audit_id, at, verb, subject_id, project_id, revision, agent, user_name, door, session_id, detail, space_id, event)
		SELECT $1, e.id, e.at, e.verb, e.subject, $2, e.revision, $3, $4, $5, $6, convert_from(e.detail, 'UTF8')::jsonb, e.space, e.event
		FROM unnest($7::uuid[], $8::timestamptz[], $9::text[], $10::uuid[], $11::int[], $12::bytea[], $13::int[], $14::bigint[])
			AS e (id, at, verb, subject, revision, detail, space, event)`,
		t.org, nullID(by.Project), by.Agent, by.User, by.Door, by.Session, ids, at, verbs, subjects, revisions, details, spaces, events)
	return nil
}
