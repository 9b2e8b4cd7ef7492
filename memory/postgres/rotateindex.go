package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/problem"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// indexPage is how many memories are opened at once when an index is built: some megabytes of texts and hashes.
const indexPage = 200

// RotateIndex gives an organization a new index key and computes every keyed hash anew from the texts, in one transaction:
// readers go on with what they see, writers wait until it is done, and when it fails nothing has changed. The hashes of
// import keys stay (secret.DomainSource). progress, which may be nil, is called with the memories done and those there are.
// Memories whose text does not open are left out of the index, and the error says so (ErrUnreadable): all others are in it.
func (s *Store) RotateIndex(ctx context.Context, org uuid.UUID, progress func(done, total int)) error {
	unreadable := 0
	err := s.changeKeys(ctx, org, func(t pgx.Tx, stored secret.Wrapped) (secret.Wrapped, error) {
		master, err := s.master.holding(stored.MasterKeyID)
		if err != nil {
			return stored, err
		}
		keys, w, err := master.NewIndexKey(org, stored)
		if err != nil {
			return stored, err
		}
		x := &reindexer{view: view{tx: t, org: org, keys: keys}, progress: progress}
		err = x.run(ctx)
		unreadable = x.unreadable
		return w, err
	})
	if err == nil && unreadable > 0 {
		return problem.New(problem.Unavailable, "index key", fmt.Sprintf("the index of organization %s was built anew without %s whose text cannot be opened with the keys at hand",
			org, counted(unreadable, "memory", "memories")),
			"bring the texts back from a backup, then run stele key rotate --index again", "or erase the memories that stele list marks unreadable").Because(ErrUnreadable)
	}
	return wrapRotation("build anew the index of", org, err)
}

// reindexer builds the index of an organization in the transaction of its view, by the keys of its view.
type reindexer struct {
	view
	progress    func(done, total int)
	done, total int
	unreadable  int // memories whose text did not open
}

func (x *reindexer) run(ctx context.Context) error {
	b := &pgx.Batch{}
	b.Queue(writePlans)
	for _, table := range []string{"posting_blocks", "memory_terms"} {
		b.Queue(`DELETE FROM `+table+` WHERE org_id = $1`, x.org)
	}
	b.Queue(`SELECT count(*)::int FROM memories WHERE org_id = $1 AND status <> 'erased'`, x.org).QueryRow(func(row pgx.Row) error {
		return row.Scan(&x.total)
	})
	if err := x.tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("empty the index: %w", err)
	}
	for last := uuid.Nil; ; {
		x.report()
		ids, err := x.page(ctx, last)
		if err != nil {
			return fmt.Errorf("list memories: %w", err)
		}
		if len(ids) == 0 {
			break
		}
		records, err := x.Records(ctx, ids)
		if err != nil {
			return err
		}
		if err := x.index(ctx, records); err != nil {
			return fmt.Errorf("index %d memories: %w", len(ids), err)
		}
		last = ids[len(ids)-1]
		x.done += len(ids)
	}
	if _, err := x.tx.Exec(ctx, buildBlocks, x.org); err != nil {
		return fmt.Errorf("make posting lists: %w", err)
	}
	return nil
}

func (x *reindexer) report() {
	if x.progress != nil {
		x.progress(x.done, x.total)
	}
}

func (x *reindexer) page(ctx context.Context, last uuid.UUID) ([]uuid.UUID, error) {
	rows, err := x.tx.Query(ctx, `SELECT memory_id FROM memories WHERE org_id = $1 AND memory_id > $2 AND status <> 'erased'
		ORDER BY memory_id LIMIT $3`, x.org, last, indexPage)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// index stores the hashes of memories. Every one gets its row in memories written, which is how connections that keep terms
// of what has expired learn that these are others now (expiredDigests).
func (x *reindexer) index(ctx context.Context, records []memory.Record) error {
	var ids, linking []uuid.UUID
	var titles, texts, before, targets [][]byte
	var counts []int32
	b := &pgx.Batch{}
	for i := range records {
		r := &records[i]
		if r.Unreadable() { // its hashes are of a key that is gone: from now on it is found by its handle alone
			x.unreadable++
			ids, titles, texts, counts = append(ids, r.ID), append(titles, nil), append(texts, []byte{}), append(counts, 0)
			continue
		}
		e := x.entry(memory.IndexOf(&r.Memory))
		ids, titles, texts, counts = append(ids, r.ID), append(titles, e.title), append(texts, e.text), append(counts, int32(len(e.terms))) //nolint:gosec // bounded by the text
		for n, link := range r.Links {
			linking, before, targets = append(linking, r.ID), append(before, r.LinkHashes[n]), append(targets, x.linkHash(link.Text))
		}
		if r.Status != memory.Live {
			continue
		}
		b.Queue(`INSERT INTO memory_terms (org_id, space_id, seq, terms, tags) VALUES ($1, $2, $3, $4, $5)`, x.org, r.Space, r.Seq, e.terms, e.tags)
	}
	b.Queue(`UPDATE memories AS m SET title_hash = v.title, text_hash = v.text, term_count = v.terms
		FROM unnest($2::uuid[], $3::bytea[], $4::bytea[], $5::int[]) AS v (memory_id, title, text, terms)
		WHERE m.org_id = $1 AND m.memory_id = v.memory_id`, x.org, ids, titles, texts, counts)
	b.Queue(`UPDATE links AS l SET target_hash = v.hash FROM unnest($2::uuid[], $3::bytea[], $4::bytea[]) AS v (memory_id, before, hash)
		WHERE l.org_id = $1 AND l.memory_id = v.memory_id AND l.target_hash = v.before`, x.org, linking, before, targets)
	return x.tx.SendBatch(ctx, b).Close()
}
