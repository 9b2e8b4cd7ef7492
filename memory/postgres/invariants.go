package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/memory"
)

// invariantTimeout bounds one statement over everything an organization has.
const invariantTimeout = 10 * time.Minute

// Invariants looks at everything an organization has, as the service, on one snapshot. Counts are made by the database and
// texts are opened page by page, so that what is held here does not grow with the organization.
func (s *Store) Invariants(ctx context.Context, org uuid.UUID, sample int) ([]memory.Invariant, error) {
	var out []memory.Invariant
	opts := postgres.TxOptions{ReadOnly: true, Isolation: pgx.RepeatableRead, StatementTimeout: invariantTimeout}
	err := s.db.InOrg(ctx, org, opts, func(t pgx.Tx) error {
		out = out[:0]
		keys, err := s.keysOf(ctx, t, org)
		if err != nil {
			return err
		}
		for _, i := range invariants {
			found, err := i.look(ctx, t, org)
			if err != nil {
				return fmt.Errorf("%s: %w", i.id, err)
			}
			out = append(out, found)
		}
		w := &whole{view: view{tx: t, org: org, keys: keys}, sample: sample}
		for _, look := range []func(context.Context) (memory.Invariant, error){w.opens, w.terms} {
			found, err := look(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", found.ID, err)
			}
			out = append(out, found)
		}
		return nil
	})
	return out, err
}

// invariant is a statement whose contradictions SQL finds. $1 is the organization.
type invariant struct {
	id, claim string
	of        string // what is counted as looked at: a FROM clause with its conditions, after org_id = $1
	broken    string // a query of the subjects that contradict it, as one text each
}

// look counts the contradictions and names the first.
func (i invariant) look(ctx context.Context, t pgx.Tx, org uuid.UUID) (memory.Invariant, error) {
	out := memory.Invariant{ID: i.id, Claim: i.claim, Subjects: []string{}}
	b := &pgx.Batch{}
	b.Queue(`SELECT count(*) FROM `+i.of, org).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Checked) })
	b.Queue(`WITH broken (subject) AS MATERIALIZED (`+i.broken+`)
		SELECT (SELECT count(*) FROM broken), ARRAY(SELECT subject FROM broken ORDER BY subject LIMIT $2)`, org, memory.MaxSubjects).QueryRow(func(row pgx.Row) error {
		return row.Scan(&out.Broken, &out.Subjects)
	})
	return out, t.SendBatch(ctx, b).Close()
}

// end is a column that names a row of another table. Most are foreign keys, which a restore by parts or a server that was
// told to leave them out does not keep.
type end struct{ table, column, subject, target, key string }

// ends are those that hang together.
var ends = []end{
	{"attachments", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"attachments", "element_id", "a.memory_id::text || ' on ' || a.element_id::text", "elements", "element_id"},
	{"memory_versions", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"memory_paths", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"links", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"doubts", "memory_id", "a.doubt_id::text", "memories", "memory_id"},
	{"doubts", "stamp_id", "a.doubt_id::text", "stamps", "stamp_id"},
	{"import_keys", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"citations", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"impressions", "memory_id", "a.memory_id::text", "memories", "memory_id"},
	{"memories", "superseded_by", "a.handle", "memories", "memory_id"},
	{"memories", "space_id", "a.handle", "spaces", "space_id"},
	{"memories", "project_id", "a.handle", "projects", "project_id"},
	{"projects", "space_id", "a.project_id::text", "spaces", "space_id"},
	{"elements", "parent_id", "a.element_id::text", "elements", "element_id"},
	{"relationships", "source_id", "a.project_id::text || ' ' || a.ordinal", "elements", "element_id"},
	{"relationships", "destination_id", "a.project_id::text || ' ' || a.ordinal", "elements", "element_id"},
	{"bindings", "element_id", "a.element_id::text", "elements", "element_id"},
	{"leases", "session_id", "a.session_id::text", "work_sessions", "session_id"},
	{"leases", "element_id", "a.session_id::text || ' on ' || a.element_id::text", "elements", "element_id"},
	{"work_sessions", "outcome_id", "a.name", "memories", "memory_id"},
	{"follow_ups", "session_id", "a.follow_up_id::text", "work_sessions", "session_id"},
	{"review_items", "memory_id", "a.decision_id::text", "memories", "memory_id"},
}

// brokenEnds is the query of the rows whose other end is missing, and counted what is looked at.
func brokenEnds() (broken, counted string) {
	for n, e := range ends {
		if n > 0 {
			broken += " UNION ALL "
			counted += " UNION ALL "
		}
		broken += fmt.Sprintf(`SELECT '%[1]s ' || %[3]s || ' without its %[2]s' FROM %[1]s a WHERE a.org_id = $1 AND a.%[2]s IS NOT NULL
			AND NOT EXISTS (SELECT FROM %[4]s z WHERE z.org_id = $1 AND z.%[5]s = a.%[2]s)`, e.table, e.column, e.subject, e.target, e.key)
		counted += fmt.Sprintf(`SELECT 1 FROM %[1]s WHERE org_id = $1 AND %[2]s IS NOT NULL`, e.table, e.column)
	}
	return broken, "(" + counted + ") AS all_ends"
}

// invariants are those that SQL alone can tell, in the order in which they are reported.
var invariants = func() []invariant {
	broken, counted := brokenEnds()
	return append([]invariant{{id: "ends", claim: "whatever hangs on something has it", of: counted, broken: broken}}, counts...)
}()

// liveMemories are the memories in recall, as something to count.
const liveMemories = `memories WHERE org_id = $1 AND status = 'live'`

var counts = []invariant{
	{
		id: "versions", claim: "a memory has its text in every revision up to the current one",
		of: `memories WHERE org_id = $1`,
		broken: `SELECT m.handle FROM memories m LEFT JOIN (SELECT memory_id, count(*) AS n, max(revision) AS newest FROM memory_versions
				WHERE org_id = $1 GROUP BY memory_id) v ON v.memory_id = m.memory_id
			WHERE m.org_id = $1 AND (v.n IS DISTINCT FROM m.revision OR v.newest IS DISTINCT FROM m.revision)`,
	},
	{
		id: "titles", claim: "a title is held by one live memory of its space", of: liveMemories + ` AND title_hash IS NOT NULL`,
		broken: `SELECT string_agg(handle, ', ' ORDER BY handle) FROM memories
			WHERE org_id = $1 AND status = 'live' AND title_hash IS NOT NULL GROUP BY space_id, title_hash HAVING count(*) > 1`,
	},
	{
		id: "spaces", claim: "a space counts its live memories as they are", of: `spaces WHERE org_id = $1`,
		broken: `SELECT format('space %s counts %s, there are %s', s.space_id, s.live, coalesce(m.n, 0)) FROM spaces s
			LEFT JOIN (SELECT space_id, count(*) AS n FROM memories WHERE org_id = $1 AND status = 'live' GROUP BY space_id) m ON m.space_id = s.space_id
			WHERE s.org_id = $1 AND s.live <> coalesce(m.n, 0)`,
	},
	{
		id: "sequence", claim: "the memories of a space are numbered from 1 without gaps or doubles", of: `memories WHERE org_id = $1`,
		broken: `SELECT format('space %s: %s numbers on %s memories, the next is %s', s.space_id, coalesce(m.numbers, 0), coalesce(m.n, 0), s.next_seq) FROM spaces s
			LEFT JOIN (SELECT space_id, count(*) AS n, count(DISTINCT seq) AS numbers, min(seq) AS first, max(seq) AS last
				FROM memories WHERE org_id = $1 GROUP BY space_id) m ON m.space_id = s.space_id
			WHERE s.org_id = $1 AND (coalesce(m.n, 0) <> s.next_seq - 1 OR coalesce(m.numbers, 0) <> s.next_seq - 1
				OR coalesce(m.last, 0) <> s.next_seq - 1 OR m.first <> 1)`,
	},
	{
		id: "events", claim: "the events of a space are numbered from 1 without gaps", of: `audit WHERE org_id = $1 AND event IS NOT NULL`,
		broken: `SELECT format('space %s: %s events, the next is %s', coalesce(s.space_id, e.space_id), coalesce(e.n, 0), s.next_event) FROM
			(SELECT space_id, next_event FROM spaces WHERE org_id = $1) s
			FULL JOIN (SELECT space_id, count(*) AS n, count(DISTINCT event) AS numbers, min(event) AS first, max(event) AS last
				FROM audit WHERE org_id = $1 AND event IS NOT NULL GROUP BY space_id) e ON e.space_id = s.space_id
			WHERE s.space_id IS NULL OR coalesce(e.n, 0) <> s.next_event - 1 OR coalesce(e.numbers, 0) <> s.next_event - 1
				OR coalesce(e.last, 0) <> s.next_event - 1 OR e.first <> 1`,
	},
	{
		id: "index", claim: "a live memory is in the index of words, and no other is", of: `memory_terms WHERE org_id = $1`,
		broken: `SELECT coalesce(m.handle, format('entry %s of space %s', t.seq, t.space_id)) FROM
			(SELECT space_id, seq, handle, term_count FROM memories WHERE org_id = $1 AND status = 'live') m
			FULL JOIN (SELECT space_id, seq, cardinality(terms) AS n FROM memory_terms WHERE org_id = $1) t ON t.space_id = m.space_id AND t.seq = m.seq
			WHERE m.seq IS NULL OR t.seq IS NULL OR m.term_count <> t.n`,
	},
	{
		id: "postings", claim: "the postings are those of the entries of the index, each once and in the block of its number, and no block is empty",
		of: `posting_blocks WHERE org_id = $1`,
		broken: `SELECT format('entry %s of space %s', coalesce(t.seq, p.seq), coalesce(t.space_id, p.space_id)) FROM
			(SELECT DISTINCT e.space_id, e.seq, w.term FROM memory_terms e CROSS JOIN LATERAL unnest(e.terms || e.tags) AS w (term) WHERE e.org_id = $1) t
			FULL JOIN (SELECT b.space_id, b.term, s.seq, count(*) = 1 AND bool_and(s.seq > b.below AND s.seq <= b.upto) AS fits FROM
				(SELECT space_id, term, upto, seqs, lag(upto, 1, 0) OVER (PARTITION BY space_id, term ORDER BY upto) AS below FROM posting_blocks WHERE org_id = $1) b
				CROSS JOIN LATERAL unnest(b.seqs) AS s (seq) GROUP BY b.space_id, b.term, s.seq) p ON p.space_id = t.space_id AND p.seq = t.seq AND p.term = t.term
			WHERE t.term IS NULL OR p.term IS NULL OR NOT p.fits GROUP BY 1
			UNION ALL SELECT format('space %s: %s blocks are empty', space_id, count(*)) FROM posting_blocks
			WHERE org_id = $1 AND upto < 2147483647 AND cardinality(seqs) = 0 GROUP BY space_id`,
	},
	{
		id: "frequencies", claim: "how many memories have a word is counted as it is", of: `posting_blocks WHERE org_id = $1 AND upto = 2147483647`,
		broken: `SELECT format('space %s: %s of its words', coalesce(t.space_id, f.space_id), count(*)) FROM
			(SELECT space_id, term, count(*) AS n FROM (
				SELECT DISTINCT e.space_id, e.seq, w.term FROM memory_terms e CROSS JOIN LATERAL unnest(e.terms || e.tags) AS w (term) WHERE e.org_id = $1) d
				GROUP BY space_id, term) t
			FULL JOIN (SELECT space_id, term, df FROM posting_blocks WHERE org_id = $1 AND upto = 2147483647) f ON f.space_id = t.space_id AND f.term = t.term
			WHERE t.n IS DISTINCT FROM f.df GROUP BY coalesce(t.space_id, f.space_id)`,
	},
	{
		id: "vectors", claim: "a vector is of a live memory, of a model with a name, and as long as the others of that model", of: `vectors WHERE org_id = $1`,
		broken: `SELECT coalesce(m.handle, format('entry %s of space %s', v.seq, v.space_id)) || ' by ' || v.model FROM vectors v
			JOIN (SELECT model, mode() WITHIN GROUP (ORDER BY vector_dims(embedding)) AS dims FROM vectors WHERE org_id = $1 GROUP BY model) d ON d.model = v.model
			LEFT JOIN memories m ON m.org_id = $1 AND m.space_id = v.space_id AND m.seq = v.seq AND m.status = 'live'
			WHERE v.org_id = $1 AND (m.seq IS NULL OR v.model = '' OR vector_dims(v.embedding) <> d.dims)`,
	},
	{
		id: "citations", claim: "a memory counts the sessions that relied on it as they are", of: `citations WHERE org_id = $1`,
		broken: `SELECT m.handle FROM memories m LEFT JOIN (SELECT memory_id, count(*) AS n FROM citations WHERE org_id = $1 GROUP BY memory_id) c ON c.memory_id = m.memory_id
			WHERE m.org_id = $1 AND m.citations <> coalesce(c.n, 0)`,
	},
	{
		// What was folded is counted and no longer listed, so there may be fewer in the log, never more.
		id: "impressions", claim: "a memory counts at least the sessions that are listed as ignoring it", of: `impressions WHERE org_id = $1`,
		broken: `SELECT m.handle FROM memories m LEFT JOIN (SELECT memory_id, count(DISTINCT session_id) AS n FROM impressions
				WHERE org_id = $1 AND ignored GROUP BY memory_id) i ON i.memory_id = m.memory_id
			WHERE m.org_id = $1 AND (m.ignored_by < coalesce(i.n, 0) OR m.served < 0)`,
	},
	{
		// The entries that set the count say to what; those after them add to it (see past.trail). What is no count is none that
		// a memory could have.
		id: "confirmations", claim: "a memory counts its confirmations as the trail tells them", of: `memories WHERE org_id = $1`,
		broken: `SELECT m.handle FROM memories m LEFT JOIN (
				SELECT a.subject_id, coalesce(max(s.n), 0) + count(*) FILTER (WHERE a.verb IN ('confirm', 'restate') AND (s.audit_id IS NULL OR (a.at, a.audit_id) > (s.at, s.audit_id))) AS n
				FROM audit a LEFT JOIN (
					SELECT DISTINCT ON (subject_id) subject_id, at, audit_id, CASE
						WHEN detail ->> 'confirmations' IS NULL THEN 0 WHEN detail ->> 'confirmations' ~ '^[0-9]{1,9}$' THEN (detail ->> 'confirmations')::int
						ELSE -1000000000 END AS n FROM audit
					WHERE org_id = $1 AND verb IN ('unconfirm', 'promote', 'import') ORDER BY subject_id, at DESC, audit_id DESC) s ON s.subject_id = a.subject_id
				WHERE a.org_id = $1 AND a.verb IN ('confirm', 'restate', 'unconfirm', 'promote', 'import') GROUP BY a.subject_id) t ON t.subject_id = m.memory_id
			WHERE m.org_id = $1 AND m.confirmations <> coalesce(t.n, 0)`,
	},
	{
		id: "doubts", claim: "a memory is marked as doubted exactly while a doubt about it is open", of: `doubts WHERE org_id = $1`,
		broken: `SELECT m.handle FROM memories m LEFT JOIN (SELECT memory_id, bool_or(cause <> 'disputed') AS verify, bool_or(cause = 'disputed') AS disputed
				FROM doubts WHERE org_id = $1 AND cleared_at IS NULL GROUP BY memory_id) d ON d.memory_id = m.memory_id
			WHERE m.org_id = $1 AND m.status <> 'erased' AND (m.verify <> coalesce(d.verify, false) OR m.disputed <> coalesce(d.disputed, false))`,
	},
	{
		id: "erased", claim: "nothing is left of the text of an erased memory", of: `memories WHERE org_id = $1 AND status = 'erased'`,
		broken: `SELECT m.handle FROM memories m WHERE m.org_id = $1 AND m.status = 'erased' AND (m.title_hash IS NOT NULL
			OR EXISTS (SELECT FROM memory_versions v WHERE v.org_id = $1 AND v.memory_id = m.memory_id AND v.body IS NOT NULL)
			OR EXISTS (SELECT FROM links l WHERE l.org_id = $1 AND l.memory_id = m.memory_id)
			OR EXISTS (SELECT FROM memory_paths p WHERE p.org_id = $1 AND p.memory_id = m.memory_id)
			OR EXISTS (SELECT FROM evidence e WHERE e.org_id = $1 AND e.memory_id = m.memory_id)
			OR EXISTS (SELECT FROM conflicts c WHERE c.org_id = $1 AND c.memory_id = m.memory_id)
			OR EXISTS (SELECT FROM conflicts c WHERE c.org_id = $1 AND c.other_id = m.memory_id))`,
	},
	{
		id: "sessions", claim: "a work session that is over says when, and holds nothing any more", of: `work_sessions WHERE org_id = $1`,
		broken: `SELECT s.name FROM work_sessions s WHERE s.org_id = $1 AND ((s.state = 'active') <> (s.ended_at IS NULL)
			OR s.state <> 'active' AND EXISTS (SELECT FROM leases l WHERE l.org_id = $1 AND l.session_id = s.session_id AND l.released_at IS NULL))`,
	},
}

// share is the part of n that makes a sample of about so many; 1 for all.
func share(n int64, sample int) float64 {
	if sample <= 0 || n <= int64(sample) {
		return 1
	}
	return math.Min(1, float64(sample)/float64(n))
}
