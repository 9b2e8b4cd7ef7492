package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// What an import asks and stores, for hundreds of memories at once.

// importedAs finds what keys became: each is looked up in the spaces $3, or in all. LATERAL with OFFSET 0 leaves no other way: until the
// tables are analyzed for the first time, as during a first import, it would seem to cost nothing to read a whole space for each key.
const importedAs = `
	WITH wanted AS MATERIALIZED (SELECT s.space_id, k.key FROM spaces s CROSS JOIN unnest($2::bytea[]) AS k (key)
		WHERE s.org_id = $1 AND ($3::int[] IS NULL OR s.space_id = ANY ($3)))
	SELECT w.key, w.space_id, m.memory_id, m.handle FROM wanted w
	CROSS JOIN LATERAL (SELECT memory_id, handle FROM memories WHERE org_id = $1 AND space_id = w.space_id AND source_key = w.key OFFSET 0) m
	UNION ALL
	SELECT w.key, w.space_id, m.memory_id, m.handle FROM wanted w
	CROSS JOIN LATERAL (SELECT memory_id FROM import_keys WHERE org_id = $1 AND space_id = w.space_id AND source_key = w.key OFFSET 0) i
	CROSS JOIN LATERAL (SELECT memory_id, handle FROM memories WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) m`

// ImportedAs tells which memories records of these keys became, in some spaces or, with none, in any.
func (t *tx) ImportedAs(ctx context.Context, keys []string, spaces ...int32) ([]memory.ImportedAs, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	byHash := make(map[string]string, len(keys))
	var hashes [][]byte
	for _, key := range keys {
		hash := t.hash128(sourceDomain, key)
		if _, again := byHash[string(hash)]; !again {
			hashes, byHash[string(hash)] = append(hashes, hash), key
		}
	}
	rows, err := t.tx.Query(ctx, importedAs, t.org, hashes, spaces)
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

// sameTexts and titlesTaken look hashes up in a space, written as importedAs. A range and an order leave only the index of texts.
const (
	sameTexts = `SELECT m.memory_id FROM (SELECT DISTINCT hash FROM unnest($3::bytea[]) AS hash) h
		CROSS JOIN LATERAL (SELECT memory_id FROM memories WHERE org_id = $1 AND space_id = $2 AND text_hash >= h.hash AND text_hash <= h.hash
			AND status = 'live' ORDER BY text_hash OFFSET 0) m
		ORDER BY m.memory_id`
	titlesTaken = `SELECT h.hash, m.handle FROM (SELECT DISTINCT hash FROM unnest($3::bytea[]) AS hash) h
		CROSS JOIN LATERAL (SELECT handle FROM memories WHERE org_id = $1 AND space_id = $2 AND title_hash = h.hash AND status = 'live' OFFSET 0) m`
)

// SameTexts gives the live memories of a space with one of the normalised texts, oldest first.
func (t *tx) SameTexts(ctx context.Context, space int32, normals []string) ([]uuid.UUID, error) {
	hashes := make([][]byte, len(normals))
	for i, n := range normals {
		hashes[i] = t.hash128(textDomain, n)
	}
	rows, err := t.tx.Query(ctx, sameTexts, t.org, space, hashes)
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
	rows, err := t.tx.Query(ctx, titlesTaken, t.org, space, hashes)
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
		SELECT o.org_id, $2, k.hash, k.id
		FROM organizations o CROSS JOIN unnest($3::bytea[], $4::uuid[]) AS k (hash, id) WHERE o.org_id = $1 ON CONFLICT DO NOTHING`, t.org, space, hashes, ids)
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

// InsertAll stores memories with everything that belongs to them; see memory.Insertion.
func (t *tx) InsertAll(_ context.Context, by memory.Caller, all []memory.Insertion) error {
	for i := range all {
		ins := &all[i]
		if err := t.add(ins.Record, addition{at: ins.At, index: ins.Index, key: ins.Key, batch: ins.Batch, versions: ins.Versions}); err != nil {
			return err
		}
		sp, err := t.held(ins.Record.Space)
		if err != nil {
			return err
		}
		for _, e := range ins.Audit {
			if err := t.addEntry(by, e, sp); err != nil {
				return err
			}
		}
	}
	return nil
}
