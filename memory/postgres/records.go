package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/secret"
	"github.com/stele-dev/stele/memory"
)

// Domains of the keyed hashes; a hash of one never equals that of another. What carries them is named beside.
const (
	termDomain   = "term"   // postings, term_frequencies
	tagDomain    = "tag"    // postings
	titleDomain  = "title"  // memories.title_hash
	textDomain   = "text"   // memories.text_hash
	targetDomain = "target" // links.target_hash
	sourceDomain = "source" // memories.source_key, import_keys.source_key
)

// body is the sealed text of one revision. Short names: it is stored once per revision.
type body struct {
	Title   string   `json:"t,omitempty"`
	Content string   `json:"c"`
	Why     string   `json:"w,omitempty"`
	Tags    []string `json:"g,omitempty"`

	Anchor *memory.Anchor `json:"a,omitempty"`
}

// bodyOf is what of a memory is sealed as one text.
func bodyOf(r *memory.Record) body {
	return body{Title: r.Title, Content: r.Content, Why: r.Why, Tags: r.Tags, Anchor: r.Anchor}
}

func bodyLocation(id uuid.UUID, revision int) secret.Location {
	return secret.Location{Table: "memory_versions", Column: "body", Row: secret.Row(id, int64(revision))}
}

func linkLocation(id uuid.UUID, ordinal int) secret.Location {
	return secret.Location{Table: "links", Column: "target", Row: secret.Row(id, int64(ordinal))}
}

func doubtLocation(id uuid.UUID) secret.Location {
	return secret.Location{Table: "doubts", Column: "reason", Row: secret.Row(id)}
}

func remarkLocation(id uuid.UUID) secret.Location {
	return secret.Location{Table: "remarks", Column: "body", Row: secret.Row(id)}
}

func (v *view) sealBody(id uuid.UUID, revision int, b body) ([]byte, error) {
	plain, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return v.keys.Seal(bodyLocation(id, revision), plain)
}

// openBody opens the text of a revision; readable is false when it does not open. One text that was damaged, or sealed by a
// key that is lost, must not keep anybody from the others.
func (v *view) openBody(id uuid.UUID, revision int, sealed []byte) (b body, readable bool) {
	if sealed == nil { // erased
		return b, true
	}
	plain, err := v.keys.Open(bodyLocation(id, revision), sealed)
	if err != nil || json.Unmarshal(plain, &b) != nil {
		return body{}, false
	}
	return b, true
}

// openWords opens a text that stands beside a memory, and says so when it does not open.
func (v *view) openWords(place secret.Location, sealed []byte) string {
	plain, err := v.keys.Open(place, sealed)
	if err != nil {
		return "(cannot be opened with the keys at hand)"
	}
	return string(plain)
}

func (v *view) hash128(domain, text string) []byte {
	h := v.keys.Hash128(domain, text)
	return h[:]
}

// titleHash is nil without a title: nothing is unique about having none.
func (v *view) titleHash(folded string) []byte {
	if folded == "" {
		return nil
	}
	return v.hash128(titleDomain, folded)
}

// Spaces gives those of the keys that exist.
func (v *view) Spaces(ctx context.Context, keys []memory.SpaceKey) ([]memory.Space, error) {
	scopes, owners := columnsOf(keys)
	rows, err := v.tx.Query(ctx, spacesNamed, v.org, scopes, owners)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanSpace)
}

// spacesNamed gives those of some keys that exist.
const spacesNamed = `
	SELECT s.scope, s.owner, s.space_id, s.live, coalesce(p.without_organization, false)
	FROM unnest($2::text[], $3::text[]) AS k (scope, owner)
	JOIN spaces s ON s.org_id = $1 AND s.scope = k.scope AND s.owner = k.owner
	LEFT JOIN projects p ON p.org_id = $1 AND p.project_id = CASE WHEN s.scope = 'project' THEN s.owner::uuid END`

func scanSpace(row pgx.CollectableRow) (s memory.Space, err error) {
	return s, row.Scan(&s.Scope, &s.Owner, &s.ID, &s.Live, &s.WithoutOrganization)
}

func columnsOf(keys []memory.SpaceKey) (scopes, owners []string) {
	for _, k := range keys {
		scopes, owners = append(scopes, string(k.Scope)), append(owners, k.Owner)
	}
	return scopes, owners
}

// recordRows gives memories with their texts, each looked up by its key: a join would be planned by statistics, which do not exist right
// after an import, and read all of an organization for eight memories.
const recordRows = `
	SELECT m.memory_id, m.space_id, m.seq, m.project_id, m.handle, m.kind, s.scope, s.owner, m.status, m.agent, m.user_name, m.origin,
	       m.unreviewed, m.created_at, m.confirmed_at, m.confirmations, m.revision, m.superseded_by, n.handle, m.expires_at,
	       m.verify, m.disputed, m.citations, m.ignored_by, m.seen_commit, m.seen_branch, m.seen_tree, m.seen_assumed, m.changed, t.body
	FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, space_id, seq, project_id, handle, kind, status, agent, user_name, origin, unreviewed, created_at, confirmed_at,
		confirmations, revision, superseded_by, expires_at, verify, disputed, citations, ignored_by, seen_commit, seen_branch, seen_tree, seen_assumed, changed
		FROM memories WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) m
	CROSS JOIN LATERAL (SELECT scope, owner FROM spaces WHERE org_id = $1 AND space_id = m.space_id OFFSET 0) s
	LEFT JOIN LATERAL (SELECT body FROM memory_versions WHERE org_id = $1 AND memory_id = m.memory_id AND revision = m.revision OFFSET 0) t ON true
	LEFT JOIN LATERAL (SELECT handle FROM memories WHERE org_id = $1 AND memory_id = m.superseded_by OFFSET 0) n ON true`

// recordElements gives the elements that memories are attached to.
const recordElements = `
	SELECT a.memory_id, e.element_id, e.project_id, e.key, e.name, e.level, a.reason, a.path, e.removed_at IS NOT NULL
	FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, element_id, reason, path, attached_at, detached_at FROM attachments
		WHERE org_id = $1 AND memory_id = i.memory_id OFFSET 0) a
	CROSS JOIN LATERAL (SELECT element_id, project_id, key, name, level, removed_at, ordinal FROM elements
		WHERE org_id = $1 AND element_id = a.element_id OFFSET 0) e
	WHERE a.detached_at IS NULL
	ORDER BY a.memory_id, a.attached_at, e.ordinal`

// What follows is looked up for each memory, too. Asked for as memory_id = ANY (…) in their order, with sorting off (bySeqOnly), they
// were found by reading through all of the organization's, in the order of the index: most of a recall among a million. The inner order leaves
// but the index that has it.
const (
	recordPaths = `
	SELECT p.memory_id, p.pattern, p.project_id FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, ordinal, pattern, project_id FROM memory_paths
		WHERE org_id = $1 AND memory_id = i.memory_id ORDER BY pattern OFFSET 0) p
	ORDER BY p.memory_id, p.ordinal`
	recordDoubts = `
	SELECT d.memory_id, d.doubt_id, d.cause, d.since, d.reason FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, doubt_id, cause, since, reason FROM doubts
		WHERE org_id = $1 AND memory_id = i.memory_id AND cleared_at IS NULL ORDER BY since OFFSET 0) d
	ORDER BY d.memory_id, d.since`
	recordLinks = `
	SELECT l.memory_id, l.ordinal, l.target, l.target_hash FROM unnest($2::uuid[]) AS i (memory_id)
	CROSS JOIN LATERAL (SELECT memory_id, ordinal, target, target_hash FROM links
		WHERE org_id = $1 AND memory_id = i.memory_id ORDER BY ordinal OFFSET 0) l
	ORDER BY l.memory_id, l.ordinal`
)

// Records loads memories with everything around them: one round trip of five statements.
func (v *view) Records(ctx context.Context, ids []uuid.UUID) ([]memory.Record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found := make(map[uuid.UUID]*memory.Record, len(ids))
	b := &pgx.Batch{}
	b.Queue(recordRows, v.org, ids).Query(v.scanRecords(found))
	b.Queue(recordElements, v.org, ids).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var ref memory.ElementRef
			var reason, path string
			if err := rows.Scan(&id, &ref.ID, &ref.Of, &ref.Key, &ref.Name, &ref.Level, &reason, &path, &ref.Orphan); err != nil {
				return err
			}
			switch reason {
			case "path":
				ref.Reason = "by " + path
			case "writer":
			default:
				ref.Reason = reason
			}
			found[id].Elements = append(found[id].Elements, ref)
			return nil
		})
	})
	b.Queue(recordPaths, v.org, ids).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var pattern string
			var project *uuid.UUID
			if err := rows.Scan(&id, &pattern, &project); err != nil {
				return err
			}
			found[id].Paths = append(found[id].Paths, pattern)
			found[id].PathsOf = append(found[id].PathsOf, orNil(project))
			return nil
		})
	})
	b.Queue(recordDoubts, v.org, ids).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id, doubt uuid.UUID
			var cause string
			var since time.Time
			var sealed []byte
			if err := rows.Scan(&id, &doubt, &cause, &since, &sealed); err != nil {
				return err
			}
			flag := "verify"
			if cause == "disputed" {
				flag = "disputed"
			}
			found[id].DoubtedAt = since.UTC() // the last row is the newest
			found[id].Flags = append(found[id].Flags, memory.Flag{Flag: flag, Reason: v.openWords(doubtLocation(doubt), sealed)})
			return nil
		})
	})
	b.Queue(recordLinks, v.org, ids).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var id uuid.UUID
			var ordinal int
			var sealed, hash []byte
			if err := rows.Scan(&id, &ordinal, &sealed, &hash); err != nil {
				return err
			}
			text, err := v.keys.Open(linkLocation(id, ordinal), sealed)
			if err != nil {
				return nil //nolint:nilerr // whoever cannot read where a link leads can read the rest
			}
			found[id].Links = append(found[id].Links, memory.Link{Text: string(text)})
			found[id].LinkHashes = append(found[id].LinkHashes, hash)
			return nil
		})
	})
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("load %d memories: %w", len(ids), err)
	}
	out := make([]memory.Record, 0, len(ids))
	for _, id := range ids {
		if r := found[id]; r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

func orNil(id *uuid.UUID) uuid.UUID {
	if id == nil {
		return uuid.Nil
	}
	return *id
}

// each runs fn on every row.
func each(rows pgx.Rows, fn func() error) error {
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (v *view) scanRecords(found map[uuid.UUID]*memory.Record) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		return each(rows, func() error {
			r := &memory.Record{}
			var project, successor *uuid.UUID
			var successorHandle *string
			var owner string
			var seen memory.Seen
			var changed int
			var sealed []byte
			if err := rows.Scan(&r.ID, &r.Space, &r.Seq, &project, &r.Handle, &r.Kind, &r.Scope, &owner, &r.Status, &r.Agent, &r.User, &r.Origin,
				&r.Unreviewed, &r.CreatedAt, &r.ConfirmedAt, &r.Confirmations, &r.Revision, &successor, &successorHandle, &r.ExpiresAt,
				&r.Verify, &r.Disputed, &r.Citations, &r.IgnoredBy, &seen.Commit, &seen.Branch, &seen.Tree, &seen.Assumed, &changed, &sealed); err != nil {
				return err
			}
			b, readable := v.openBody(r.ID, r.Revision, sealed)
			if !readable || sealed == nil && r.Status != memory.Erased { // its text is lost, and nobody erased it
				r.MarkUnreadable()
			}
			r.Title, r.Content, r.Why, r.Tags, r.Anchor = b.Title, b.Content, b.Why, b.Tags, b.Anchor
			r.CreatedAt, r.ConfirmedAt = r.CreatedAt.UTC(), r.ConfirmedAt.UTC()
			if r.ExpiresAt != nil {
				utc := r.ExpiresAt.UTC()
				r.ExpiresAt = &utc
			}
			if r.Scope == memory.Personal {
				r.Owner = owner
			}
			if project != nil {
				r.ProjectID = *project
			}
			if successor != nil {
				r.Successor = *successor
			}
			if successorHandle != nil {
				r.SupersededBy = *successorHandle
			}
			if seen.Commit != "" || seen.Branch != "" || seen.Tree != "" || seen.Assumed {
				r.Seen = &seen
			}
			r.Author = memory.AuthorName(r.Agent, r.User)
			if changed > 0 && !r.Verify { // a doubt says it better
				r.Flags = append(r.Flags, memory.Flag{Flag: "changed", Reason: fmt.Sprintf("%d %% of the lines it was written about are gone", changed)})
			}
			found[r.ID] = r
			return nil
		})
	}
}

// id scans one uuid; uuid.Nil when there is no row.
func (v *view) id(ctx context.Context, sql string, args ...any) (uuid.UUID, error) {
	var id uuid.UUID
	err := v.tx.QueryRow(ctx, sql, args...).Scan(&id)
	if postgres.IsNoRows(err) {
		return uuid.Nil, nil
	}
	return id, err
}

// ByHandle finds a memory of any status.
func (v *view) ByHandle(ctx context.Context, handle string) (uuid.UUID, error) {
	return v.id(ctx, `SELECT memory_id FROM memories WHERE org_id = $1 AND handle = $2`, v.org, handle)
}

// LiveSuccessor walks the chain in the database: a memory that was corrected a thousand times is still one question. The
// chain cannot loop, since only a live memory is superseded; UNION would end it all the same.
func (v *view) LiveSuccessor(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	return v.id(ctx, `
		WITH RECURSIVE chain AS (
			SELECT memory_id, superseded_by, status FROM memories WHERE org_id = $1 AND memory_id = $2
			UNION
			SELECT m.memory_id, m.superseded_by, m.status FROM chain c
			JOIN memories m ON m.org_id = $1 AND m.memory_id = c.superseded_by WHERE c.status = 'superseded'
		)
		SELECT memory_id FROM chain WHERE status = 'live'`, v.org, id)
}

// ByTitle finds the live memory of that folded title in the first space that has one.
func (v *view) ByTitle(ctx context.Context, spaces []int32, folded string) (uuid.UUID, error) {
	if folded == "" || len(spaces) == 0 {
		return uuid.Nil, nil
	}
	return v.id(ctx, `
		SELECT m.memory_id FROM unnest($2::int[]) WITH ORDINALITY AS s (space_id, rank)
		JOIN memories m ON m.org_id = $1 AND m.space_id = s.space_id AND m.title_hash = $3 AND m.status = 'live'
		ORDER BY s.rank LIMIT 1`, v.org, spaces, v.titleHash(folded))
}

// List gives the ids a query selects, newest first.
func (v *view) List(ctx context.Context, q memory.ListQuery) ([]uuid.UUID, error) {
	kinds := make([]string, len(q.Kinds))
	for i, k := range q.Kinds {
		kinds[i] = string(k)
	}
	rows, err := v.tx.Query(ctx, `
		SELECT m.memory_id FROM memories m
		WHERE m.org_id = $1 AND m.space_id = ANY ($2)
		  AND (cardinality($3::text[]) = 0 OR m.kind = ANY ($3))
		  AND ($4 = 'all' OR m.status = $4)
		  AND ($5 = '' OR m.user_name = $5) AND ($6 = '' OR m.agent = $6)
		  AND ($7 = '' OR m.origin = $7)
		  AND ($8::timestamptz IS NULL OR m.created_at >= $8)
		  AND ($9::uuid = '00000000-0000-0000-0000-000000000000' OR EXISTS (
		      SELECT 1 FROM attachments a WHERE a.org_id = $1 AND a.memory_id = m.memory_id AND a.element_id = $9 AND a.detached_at IS NULL))
		  AND ($10::uuid = '00000000-0000-0000-0000-000000000000' OR m.memory_id < $10)
		ORDER BY m.memory_id DESC LIMIT $11`,
		v.org, q.Spaces, kinds, string(q.Status), q.User, q.Agent, string(q.Origin), q.Since, q.Element, q.Before, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// Around gives the anchor and its neighbours in time, oldest first.
func (v *view) Around(ctx context.Context, q memory.AroundQuery) ([]uuid.UUID, error) {
	rows, err := v.tx.Query(ctx, `
		WITH near AS (
			SELECT m.memory_id, m.created_at FROM memories m
			WHERE m.org_id = $1 AND m.space_id = ANY ($2) AND m.status NOT IN ('erased', 'candidate') AND m.memory_id <> $3
			  AND (cardinality($4::uuid[]) = 0 OR EXISTS (
			      SELECT 1 FROM attachments a
			      WHERE a.org_id = $1 AND a.memory_id = m.memory_id AND a.element_id = ANY ($4) AND a.detached_at IS NULL))
		), sides AS (
			(SELECT memory_id, created_at FROM near WHERE (created_at, memory_id) < ($5, $3) ORDER BY created_at DESC, memory_id DESC LIMIT $6)
			UNION ALL
			(SELECT memory_id, created_at FROM near WHERE (created_at, memory_id) > ($5, $3) ORDER BY created_at, memory_id LIMIT $6)
			UNION ALL
			SELECT $3::uuid, $5::timestamptz
		)
		SELECT memory_id FROM sides ORDER BY created_at, memory_id`, v.org, q.Spaces, q.Anchor, q.Elements, q.At, q.Limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
}

// Versions gives the texts a memory had.
func (v *view) Versions(ctx context.Context, id uuid.UUID) ([]memory.Version, error) {
	rows, err := v.tx.Query(ctx, `SELECT revision, body, recorded_at, agent, user_name FROM memory_versions
		WHERE org_id = $1 AND memory_id = $2 ORDER BY revision`, v.org, id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (memory.Version, error) {
		var out memory.Version
		var sealed []byte
		var agent, user string
		if err := row.Scan(&out.Revision, &sealed, &out.RecordedAt, &agent, &user); err != nil {
			return out, err
		}
		b, readable := v.openBody(id, out.Revision, sealed)
		out.Unreadable = !readable
		out.RecordedAt, out.Author, out.Erased = out.RecordedAt.UTC(), memory.AuthorName(agent, user), sealed == nil
		out.Title, out.Content, out.Why, out.Tags = b.Title, b.Content, b.Why, b.Tags
		if out.Tags == nil {
			out.Tags = []string{}
		}
		return out, nil
	})
}

// scanRemarks collects what was said, by the instant it was said.
func (v *view) scanRemarks(said map[time.Time]string) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		return each(rows, func() error {
			var remark uuid.UUID
			var at time.Time
			var sealed []byte
			if err := rows.Scan(&remark, &at, &sealed); err != nil {
				return err
			}
			said[at.UTC()] = v.openWords(remarkLocation(remark), sealed)
			return nil
		})
	}
}

// Events gives the trail of a memory in words: what the audit says, and the reasons of its doubts.
//
//nolint:gocognit // one batch of four queries, each with what it does to the list
func (v *view) Events(ctx context.Context, id uuid.UUID) ([]memory.Event, error) {
	type doubt struct {
		since     time.Time
		cleared   *time.Time
		withdrawn bool
		reason    string
	}
	var doubts []doubt
	var events []memory.Event
	b := &pgx.Batch{}
	b.Queue(`SELECT doubt_id, cause, since, cleared_at, withdrawn, reason FROM doubts WHERE org_id = $1 AND memory_id = $2 ORDER BY since`, v.org, id).
		Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var d doubt
				var doubtID uuid.UUID
				var cause string
				var sealed []byte
				if err := rows.Scan(&doubtID, &cause, &d.since, &d.cleared, &d.withdrawn, &sealed); err != nil {
					return err
				}
				d.reason = v.openWords(doubtLocation(doubtID), sealed)
				doubts = append(doubts, d)
				if cause != "disputed" {
					events = append(events, memory.Event{At: d.since.UTC(), Verb: "doubt", Author: "stele", Detail: cause + ": " + d.reason})
				}
				if d.withdrawn && d.cleared != nil {
					events = append(events, memory.Event{At: d.cleared.UTC(), Verb: "withdraw", Author: "stele", Detail: "no longer true: " + d.reason})
				}
				return nil
			})
		})
	remarks := map[time.Time]string{}
	b.Queue(`SELECT remark_id, at, body FROM remarks WHERE org_id = $1 AND memory_id = $2`, v.org, id).Query(v.scanRemarks(remarks))
	b.Queue(`
		SELECT a.at, a.verb, a.agent, a.user_name, a.door, a.revision, a.detail, m.handle
		FROM audit a LEFT JOIN memories m ON m.org_id = a.org_id AND m.memory_id = CASE WHEN a.detail ->> 'by' ~ '^[0-9a-f-]{36}$' THEN (a.detail ->> 'by')::uuid END
		WHERE a.org_id = $1 AND a.subject_id = $2 ORDER BY a.at, a.audit_id`, v.org, id).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var e memory.Event
			var agent, user string
			var told any // an object with texts, unless somebody else wrote it
			var by *string
			if err := rows.Scan(&e.At, &e.Verb, &agent, &user, &e.Door, &e.Revision, &told, &by); err != nil {
				return err
			}
			if e.Verb == string(memory.VerbDoubt) {
				return nil // the doubt itself is listed, in words
			}
			e.At, e.Author = e.At.UTC(), memory.AuthorName(agent, user)
			switch {
			case by != nil:
				e.Detail = "by " + *by
			case e.Verb == string(memory.VerbDispute):
				for _, d := range doubts {
					if d.since.Equal(e.At) {
						e.Detail = d.reason
					}
				}
			default:
				detail, _ := told.(map[string]any)
				for _, k := range slices.Sorted(maps.Keys(detail)) {
					if e.Detail != "" {
						e.Detail += ", "
					}
					e.Detail += fmt.Sprint(k, " ", detail[k])
				}
			}
			if said := remarks[e.At]; said != "" && e.Verb != string(memory.VerbDispute) {
				e.Detail = strings.TrimPrefix(e.Detail+": "+said, ": ")
			}
			events = append(events, e)
			return nil
		})
	})
	if err := v.tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(events, func(a, b memory.Event) int { return a.At.Compare(b.At) })
	return events, nil
}
