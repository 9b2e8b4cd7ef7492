package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
	"github.com/stele-dev/stele/review"
)

var (
	_ review.Store = (*Store)(nil)
	_ review.View  = (*view)(nil)
	_ review.Tx    = (*tx)(nil)
)

// ViewReviews is View, with what there is to decide and what was decided.
func (s *Store) ViewReviews(ctx context.Context, org uuid.UUID, fn func(review.View) error) error {
	return s.View(ctx, org, func(v memory.View) error {
		rv, ok := v.(review.View)
		if !ok {
			return fmt.Errorf("%T reads no reviews", v)
		}
		return fn(rv)
	})
}

// WriteReviews is Write, with what decisions store.
func (s *Store) WriteReviews(ctx context.Context, org uuid.UUID, spaces []memory.SpaceKey, fn func(review.Tx) error) error {
	return s.Write(ctx, org, spaces, func(t memory.Tx) error {
		rt, ok := t.(review.Tx)
		if !ok {
			return fmt.Errorf("%T writes no reviews", t)
		}
		return fn(rt)
	})
}

// openItems derives what there is to decide: one branch for each reason, then without what was decided on the same evidence.
//
//	$1 organization, $2 spaces, $3 project, $4 now
//	$5 stale when confirmed before, $6 and served since; $7 sessions that ignore
//	$8 hashes of link targets that lead nowhere, $9 in memories written before
//	$10, $11 since when times served, and briefings, count
//	$12 memories, or null for all; $13 reasons, or null for all
//
// What is unreviewed is asked about once for each batch, and not for what else may be the matter with it.
//
//nolint:dupword,unqueryvet // columns; the last part names them
const openItems = `
	WITH found AS (
		SELECT d.cause AS reason, m.memory_id, d.doubt_id::text AS evidence,
			CASE WHEN d.cause = 'disputed' THEN d.doubt_id::text WHEN d.origin <> '' THEN d.origin
				WHEN s.stamp_id IS NOT NULL THEN s.commit || ' ' || s.fingerprint ELSE d.doubt_id::text END AS cause,
			d.since, d.doubt_id, d.stamp_id, d.element_id, coalesce(s.commit, '') AS commit, coalesce(s.moved, false) AS moved,
			NULL::uuid AS other_id, 0::float8 AS amount, 0 AS sessions, NULL::timestamptz AS at
		FROM memories m
		JOIN doubts d ON d.org_id = m.org_id AND d.memory_id = m.memory_id AND d.cleared_at IS NULL
		LEFT JOIN stamps s ON s.org_id = d.org_id AND s.stamp_id = d.stamp_id
		LEFT JOIN elements e ON e.org_id = d.org_id AND e.element_id = d.element_id
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND (m.verify OR m.disputed)
		  AND (d.cause = 'disputed' OR m.kind <> 'session_outcome') AND (e.element_id IS NULL OR e.project_id = $3)
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR d.cause = ANY ($13))
	UNION ALL
		SELECT 'conflict', m.memory_id, c.other_id::text, m.memory_id::text || ' ' || c.other_id::text,
			c.since, NULL, NULL, NULL, '', false, c.other_id, c.similarity, 0, NULL
		FROM conflicts c
		JOIN memories m ON m.org_id = c.org_id AND m.memory_id = c.memory_id AND m.status = 'live' AND NOT m.unreviewed AND m.space_id = ANY ($2)
		JOIN memories o ON o.org_id = c.org_id AND o.memory_id = c.other_id AND o.status = 'live' AND NOT o.unreviewed AND o.space_id = m.space_id
		WHERE c.org_id = $1 AND ($12::uuid[] IS NULL OR c.memory_id = ANY ($12) OR c.other_id = ANY ($12))
		  AND ($13::text[] IS NULL OR 'conflict' = ANY ($13))
	UNION ALL
		SELECT 'ignored', m.memory_id, (m.ignored_by / $7::int)::text, m.memory_id::text,
			coalesce(i.last_at, m.confirmed_at), NULL, NULL, NULL, '', false, NULL, coalesce(i.times, 0), m.ignored_by, NULL
		FROM memories m LEFT JOIN LATERAL (
			SELECT max(i.last_at) AS last_at, sum(i.times) AS times FROM impressions i WHERE i.org_id = $1 AND i.memory_id = m.memory_id) i ON true
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND m.citations = 0 AND m.ignored_by >= $7::int AND m.ignored_by > 0
		  AND m.kind <> 'session_outcome' AND NOT m.unreviewed
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'ignored' = ANY ($13))
	UNION ALL
		SELECT 'stale', m.memory_id, (extract(epoch FROM m.confirmed_at) * 1000000)::bigint::text, m.memory_id::text,
			m.confirmed_at, NULL, NULL, NULL, '', false, NULL, 0, 0, m.confirmed_at
		FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND m.confirmed_at < $5 AND m.kind <> 'session_outcome' AND NOT m.unreviewed
		  AND EXISTS (SELECT 1 FROM impressions i WHERE i.org_id = m.org_id AND i.memory_id = m.memory_id AND i.last_at >= $6)
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'stale' = ANY ($13))
	UNION ALL
		SELECT 'orphaned', m.memory_id, (extract(epoch FROM max(e.removed_at)) * 1000000)::bigint::text, string_agg(e.element_id::text, ' ' ORDER BY e.element_id),
			max(e.removed_at), NULL, NULL, NULL, '', false, NULL, 0, 0, NULL
		FROM elements e
		JOIN attachments a ON a.org_id = e.org_id AND a.element_id = e.element_id AND a.detached_at IS NULL
		JOIN memories m ON m.org_id = a.org_id AND m.memory_id = a.memory_id AND m.status = 'live' AND m.space_id = ANY ($2)
		WHERE e.org_id = $1 AND e.project_id = $3 AND e.removed_at IS NOT NULL
		  AND NOT EXISTS (SELECT 1 FROM attachments o JOIN elements l ON l.org_id = o.org_id AND l.element_id = o.element_id AND l.removed_at IS NULL
			WHERE o.org_id = m.org_id AND o.memory_id = m.memory_id AND o.detached_at IS NULL)
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'orphaned' = ANY ($13))
		GROUP BY m.memory_id
	UNION ALL
		SELECT 'expired', m.memory_id, (extract(epoch FROM m.expires_at) * 1000000)::bigint::text, m.memory_id::text,
			m.expires_at, NULL, NULL, NULL, '', false, NULL, 0, 0, m.expires_at
		FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND m.expires_at IS NOT NULL AND m.expires_at <= $4
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'expired' = ANY ($13))
	UNION ALL
		SELECT 'dangling_link', m.memory_id, encode(l.target_hash, 'hex'), encode(l.target_hash, 'hex'),
			m.created_at, NULL, NULL, NULL, '', false, NULL, 0, 0, NULL
		FROM links l
		JOIN memories m ON m.org_id = l.org_id AND m.memory_id = l.memory_id AND m.status = 'live' AND NOT m.unreviewed AND m.space_id = ANY ($2)
		WHERE l.org_id = $1 AND l.target_hash = ANY ($8) AND m.project_id = $3 AND m.created_at <= $9
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'dangling_link' = ANY ($13))
	UNION ALL
		SELECT 'unreviewed', m.memory_id, coalesce(m.batch_id::text, m.origin || ' ' || to_char(m.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
			coalesce(m.batch_id::text, m.origin || ' ' || to_char(m.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
			m.created_at, NULL, NULL, NULL, '', false, NULL, 0, 0, NULL
		FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'live' AND m.unreviewed
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'unreviewed' = ANY ($13))
	UNION ALL
		SELECT 'candidate', m.memory_id, m.memory_id::text, coalesce(m.batch_id::text, m.memory_id::text),
			m.created_at, NULL, NULL, NULL, '', false, NULL, 0, 0, NULL
		FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status = 'candidate'
		  AND ($12::uuid[] IS NULL OR m.memory_id = ANY ($12)) AND ($13::text[] IS NULL OR 'candidate' = ANY ($13))
	), undecided AS MATERIALIZED (
		SELECT f.* FROM found f WHERE NOT EXISTS (
			SELECT 1 FROM review_items d WHERE d.org_id = $1 AND d.memory_id = f.memory_id AND d.reason = f.reason AND d.evidence = f.evidence
			  AND NOT d.undone AND (d.hidden_until IS NULL OR d.hidden_until > $4))
	), served AS MATERIALIZED (
		SELECT i.memory_id, sum(i.times)::int AS times, bool_or(i.door = 'briefing' AND i.last_at >= $11) AS briefed
		FROM (SELECT DISTINCT memory_id FROM undecided) u
		JOIN impressions i ON i.org_id = $1 AND i.memory_id = u.memory_id AND i.last_at >= $10
		GROUP BY i.memory_id
	)
	SELECT u.reason, u.memory_id, m.handle, m.kind, m.user_name, u.evidence, u.cause, u.since, u.doubt_id, u.stamp_id, u.element_id, u.commit, u.moved,
		u.other_id, u.amount, u.sessions, u.at, m.batch_id, m.origin, coalesce(s.times, 0), coalesce(s.briefed, false)
	FROM undecided u
	JOIN memories m ON m.org_id = $1 AND m.memory_id = u.memory_id
	LEFT JOIN served s ON s.memory_id = u.memory_id`

// OpenItems derives the open items.
func (v *view) OpenItems(ctx context.Context, q review.OpenQuery) ([]review.Open, error) {
	var reasons []string
	for _, r := range q.Reasons {
		reasons = append(reasons, string(r))
	}
	if _, err := v.tx.Exec(ctx, planner); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, openItems, v.org, q.Spaces, q.Project, q.Now, q.ConfirmedBefore, q.ServedSince, q.IgnoredFrom, q.Dangling, q.LinkedBefore,
		q.CountSince, q.BriefedSince, q.Memories, reasons)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (review.Open, error) {
		var o review.Open
		var doubt, stamp, element, other, batch *uuid.UUID
		var at *time.Time
		err := row.Scan(&o.Reason, &o.Memory, &o.Handle, &o.Kind, &o.User, &o.Evidence, &o.Cause, &o.Since, &doubt, &stamp, &element, &o.Commit, &o.Moved,
			&other, &o.Amount, &o.Sessions, &at, &batch, &o.Origin, &o.Served, &o.Today)
		o.Doubt, o.Stamp, o.Element, o.Other, o.Batch = orNil(doubt), orNil(stamp), orNil(element), orNil(other), orNil(batch)
		if at != nil {
			o.At = at.UTC()
		}
		o.Since = o.Since.UTC()
		return o, err
	})
}

// LinkTargets gives the distinct targets of links of live, reviewed memories.
func (v *view) LinkTargets(ctx context.Context, project uuid.UUID, spaces []int32, before time.Time) ([]review.LinkTarget, error) {
	rows, err := v.tx.Query(ctx, `SELECT DISTINCT ON (l.target_hash) l.target_hash, l.memory_id, l.ordinal, l.target
		FROM links l JOIN memories m ON m.org_id = l.org_id AND m.memory_id = l.memory_id
		WHERE l.org_id = $1 AND m.project_id = $2 AND m.space_id = ANY ($3) AND m.status = 'live' AND NOT m.unreviewed AND m.created_at <= $4
		ORDER BY l.target_hash, l.memory_id, l.ordinal`, v.org, project, spaces, before)
	if err != nil {
		return nil, err
	}
	var out []review.LinkTarget
	var hash, sealed []byte
	var id uuid.UUID
	var ordinal int
	_, err = pgx.ForEachRow(rows, []any{&hash, &id, &ordinal, &sealed}, func() error {
		if text, err := v.keys.Open(linkLocation(id, ordinal), sealed); err == nil { // one that does not open cannot be judged
			out = append(out, review.LinkTarget{Hash: append([]byte(nil), hash...), Text: string(text)})
		}
		return nil
	})
	return out, err
}

// DoubtReasons gives the words of doubts.
func (v *view) DoubtReasons(ctx context.Context, doubts []uuid.UUID) (map[uuid.UUID]string, error) {
	out := map[uuid.UUID]string{}
	if len(doubts) == 0 {
		return out, nil
	}
	rows, err := v.tx.Query(ctx, `SELECT doubt_id, reason FROM doubts WHERE org_id = $1 AND doubt_id = ANY ($2)`, v.org, doubts)
	if err != nil {
		return nil, err
	}
	var id uuid.UUID
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &sealed}, func() error {
		out[id] = v.openWords(doubtLocation(id), sealed)
		return nil
	})
	return out, err
}

// CodeOwners gives who owns the files of a project.
func (v *view) CodeOwners(ctx context.Context, project uuid.UUID) (map[string][]memory.OwnerRule, error) {
	rows, err := v.tx.Query(ctx, `SELECT repository, rules FROM code_owners WHERE org_id = $1 AND project_id = $2`, v.org, project)
	if err != nil {
		return nil, err
	}
	out := map[string][]memory.OwnerRule{}
	var repository string
	var encoded []byte
	_, err = pgx.ForEachRow(rows, []any{&repository, &encoded}, func() error {
		var rules []memory.OwnerRule
		err := json.Unmarshal(encoded, &rules)
		out[repository] = rules
		return err
	})
	return out, err
}

// Grounds tells where memories lie.
func (v *view) Grounds(ctx context.Context, project uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]review.Ground, error) {
	out := map[uuid.UUID]review.Ground{}
	b := &pgx.Batch{}
	b.Queue(`SELECT memory_id, pattern FROM memory_paths WHERE org_id = $1 AND memory_id = ANY ($2) AND project_id = $3`, v.org, ids, project).
		Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id uuid.UUID
				var pattern string
				err := rows.Scan(&id, &pattern)
				g := out[id]
				g.Paths = append(g.Paths, pattern)
				out[id] = g
				return err
			})
		})
	b.Queue(`SELECT a.memory_id, a.element_id FROM attachments a JOIN elements e ON e.org_id = a.org_id AND e.element_id = a.element_id
		WHERE a.org_id = $1 AND a.memory_id = ANY ($2) AND a.detached_at IS NULL AND e.project_id = $3`, v.org, ids, project).
		Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id, element uuid.UUID
				err := rows.Scan(&id, &element)
				g := out[id]
				g.Elements = append(g.Elements, element)
				out[id] = g
				return err
			})
		})
	return out, v.tx.SendBatch(ctx, b).Close()
}

// StampOf gives a stamp; a zero one when there is none.
func (v *view) StampOf(ctx context.Context, id uuid.UUID) (memory.Stamp, error) {
	s := memory.Stamp{ID: id}
	var run *uuid.UUID
	err := v.tx.QueryRow(ctx, `SELECT run_id, element_id, stamped_at, fingerprint, commit, reason, moved, origin FROM stamps WHERE org_id = $1 AND stamp_id = $2`,
		v.org, id).Scan(&run, &s.Element, &s.At, &s.Fingerprint, &s.Commit, &s.Reason, &s.Moved, &s.Origin)
	if postgres.IsNoRows(err) {
		return memory.Stamp{}, nil
	}
	s.Run = orNil(run)
	return s, err
}

// StampDoubts gives the open doubts that a stamp makes.
func (v *view) StampDoubts(ctx context.Context, stamp uuid.UUID) ([]review.StampDoubt, error) {
	rows, err := v.tx.Query(ctx, `SELECT d.doubt_id, d.memory_id, EXISTS (
			SELECT 1 FROM evidence e JOIN memories m ON m.org_id = e.org_id AND m.memory_id = e.memory_id AND m.revision = e.revision
			WHERE e.org_id = d.org_id AND e.memory_id = d.memory_id AND e.state = 'gone')
		FROM doubts d WHERE d.org_id = $1 AND d.stamp_id = $2 AND d.cleared_at IS NULL ORDER BY d.doubt_id`, v.org, stamp)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (review.StampDoubt, error) {
		var d review.StampDoubt
		return d, row.Scan(&d.Doubt, &d.Memory, &d.Fails)
	})
}

// noteLocation is the place of the reason of a decision.
func noteLocation(id uuid.UUID) secret.Location {
	return secret.Location{Table: "review_decisions", Column: "note", Row: secret.Row(id)}
}
