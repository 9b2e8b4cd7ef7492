package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/memory"
)

// Past gives memories as they were at a moment: today's records with everything that the logs date put back.
func (v *view) Past(ctx context.Context, spaces []int32, at time.Time) ([]memory.Record, error) {
	rows, err := v.tx.Query(ctx, `SELECT memory_id FROM memories
		WHERE org_id = $1 AND space_id = ANY ($2) AND created_at <= $3 AND status <> 'erased' ORDER BY memory_id`, v.org, spaces, at)
	if err != nil {
		return nil, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	records, err := v.Records(ctx, ids)
	if err != nil {
		return nil, err
	}
	p := past{view: v, at: at, ids: ids, records: make(map[uuid.UUID]*memory.Record, len(records))}
	for i := range records {
		r := &records[i]
		r.Status, r.SupersededBy, r.Successor = memory.Live, "", uuid.Nil
		r.ConfirmedAt, r.Confirmations = r.CreatedAt, 0
		r.Unreviewed = r.Origin == memory.FromImport || r.Origin == memory.FromHook
		r.Citations, r.IgnoredBy, r.Verify, r.Disputed = 0, 0, false, false
		closed := r.Unreadable()
		if r.Flags = nil; closed {
			r.MarkUnreadable()
		}
		r.Elements, r.Links, r.LinkHashes, r.Seen = nil, nil, nil, nil
		p.records[r.ID] = r
	}
	b := &pgx.Batch{}
	p.versions(b)
	p.trail(b)
	p.attachments(b)
	p.doubts(b)
	p.citations(b)
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("logs of %d memories: %w", len(ids), err)
	}
	out := records[:0]
	for i := range records {
		if p.records[records[i].ID] != nil {
			out = append(out, records[i])
		}
	}
	return out, nil
}

// past puts the records of a moment together.
type past struct {
	*view
	at      time.Time
	ids     []uuid.UUID
	records map[uuid.UUID]*memory.Record
}

func (p *past) queue(b *pgx.Batch, sql string, row func(pgx.Rows) error) {
	b.Queue(sql, p.org, p.ids, p.at).Query(func(rows pgx.Rows) error {
		return each(rows, func() error { return row(rows) })
	})
}

// versions puts the text of the moment in; a memory that had none yet did not exist.
func (p *past) versions(b *pgx.Batch) {
	dated := map[uuid.UUID]bool{}
	p.queue(b, `
		SELECT DISTINCT ON (memory_id) memory_id, revision, body FROM memory_versions
		WHERE org_id = $1 AND memory_id = ANY ($2) AND recorded_at <= $3 ORDER BY memory_id, revision DESC`, func(rows pgx.Rows) error {
		var id uuid.UUID
		var revision int
		var sealed []byte
		if err := rows.Scan(&id, &revision, &sealed); err != nil {
			return err
		}
		dated[id] = true
		r := p.records[id]
		if r == nil || r.Revision == revision {
			return nil
		}
		text, readable := p.openBody(id, revision, sealed)
		if r.Flags = nil; !readable {
			r.MarkUnreadable()
		}
		r.Revision, r.Title, r.Content, r.Why, r.Tags, r.Anchor = revision, text.Title, text.Content, text.Why, text.Tags, text.Anchor
		return nil
	})
	b.Queue(`SELECT 1`).QueryRow(func(row pgx.Row) error { // runs when the versions have been read
		for id := range p.records {
			if !dated[id] {
				delete(p.records, id)
			}
		}
		var one int
		return row.Scan(&one)
	})
}

// trail replays the verbs that change status and confirmation.
func (p *past) trail(b *pgx.Batch) {
	p.queue(b, `
		SELECT subject_id, verb, at, door, coalesce(detail ->> 'confirmed_at', ''), coalesce(detail ->> 'confirmations', '') FROM audit
		WHERE org_id = $1 AND subject_id = ANY ($2) AND at <= $3
		  AND verb IN ('restate', 'confirm', 'unconfirm', 'supersede', 'retire', 'restore', 'promote', 'propose', 'import')
		ORDER BY at, audit_id`, func(rows pgx.Rows) error {
		var id uuid.UUID
		var verb memory.Verb
		var at time.Time
		var door memory.Origin
		var confirmedAt, confirmations string
		if err := rows.Scan(&id, &verb, &at, &door, &confirmedAt, &confirmations); err != nil {
			return err
		}
		r := p.records[id]
		if r == nil {
			return nil
		}
		switch verb {
		case memory.VerbConfirm, memory.VerbRestate:
			r.ConfirmedAt = at.UTC()
			r.Confirmations++
			if verb == memory.VerbConfirm || door != memory.FromImport && door != memory.FromHook {
				r.Unreviewed = false
			}
		case memory.VerbUnconfirm, memory.VerbPromote, memory.VerbImport: // the entry says how the memory stood from then on
			if t, err := time.Parse(time.RFC3339Nano, confirmedAt); err == nil {
				r.ConfirmedAt = t
			}
			if n, err := strconv.Atoi(confirmations); err == nil {
				r.Confirmations = n
			}
			if verb != memory.VerbImport {
				r.Unreviewed = verb == memory.VerbUnconfirm && (r.Origin == memory.FromImport || r.Origin == memory.FromHook)
			}
		case memory.VerbSupersede:
			r.Status = memory.Superseded
		case memory.VerbRetire:
			r.Status = memory.Retired
		case memory.VerbRestore:
			r.Status = memory.Live
		case memory.VerbPropose:
			r.Status = memory.CandidateStatus
		default: // the statement asks for no other
		}
		return nil
	})
}

func (p *past) attachments(b *pgx.Batch) {
	p.queue(b, `
		SELECT a.memory_id, e.element_id, e.project_id, e.key, e.name, e.level, e.removed_at IS NOT NULL AND e.removed_at <= $3
		FROM attachments a JOIN elements e ON e.org_id = a.org_id AND e.element_id = a.element_id
		WHERE a.org_id = $1 AND a.memory_id = ANY ($2) AND a.attached_at <= $3 AND (a.detached_at IS NULL OR a.detached_at > $3)
		ORDER BY a.memory_id, a.attached_at, e.ordinal`, func(rows pgx.Rows) error {
		var id uuid.UUID
		var ref memory.ElementRef
		if err := rows.Scan(&id, &ref.ID, &ref.Of, &ref.Key, &ref.Name, &ref.Level, &ref.Orphan); err != nil {
			return err
		}
		if r := p.records[id]; r != nil {
			r.Elements = append(r.Elements, ref)
		}
		return nil
	})
}

func (p *past) doubts(b *pgx.Batch) {
	p.queue(b, `
		SELECT memory_id, doubt_id, cause, reason FROM doubts
		WHERE org_id = $1 AND memory_id = ANY ($2) AND since <= $3 AND (cleared_at IS NULL OR cleared_at > $3)
		ORDER BY memory_id, since`, func(rows pgx.Rows) error {
		var id, doubt uuid.UUID
		var cause string
		var sealed []byte
		if err := rows.Scan(&id, &doubt, &cause, &sealed); err != nil {
			return err
		}
		r := p.records[id]
		if r == nil {
			return nil
		}
		flag := memory.Flag{Flag: "verify", Reason: p.openWords(doubtLocation(doubt), sealed)}
		if cause == "disputed" {
			flag.Flag = "disputed"
		}
		r.Disputed = r.Disputed || cause == "disputed"
		r.Verify = r.Verify || cause != "disputed"
		r.Flags = append(r.Flags, flag)
		return nil
	})
}

// citations counts them; a cited memory is reviewed.
func (p *past) citations(b *pgx.Batch) {
	p.queue(b, `
		SELECT memory_id, count(*)::int FROM citations
		WHERE org_id = $1 AND memory_id = ANY ($2) AND cited_at <= $3 GROUP BY memory_id`, func(rows pgx.Rows) error {
		var id uuid.UUID
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return err
		}
		if r := p.records[id]; r != nil {
			r.Citations, r.Unreviewed = n, false
		}
		return nil
	})
}
