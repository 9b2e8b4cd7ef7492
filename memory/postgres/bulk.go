package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/c4model"
	"github.com/stele-dev/stele/memory"
)

// Loaded is a memory for Load: a live one in its first revision, with what became of it since.
type Loaded struct {
	memory.Record
	Attached []memory.Attachment
	CitedBy  []string  // sessions that relied on it
	Vector   []float32 // nil for none
}

// Load puts new memories into one space, all in one transaction, by one statement for each table: what remembering them one by one
// would leave behind, at a twentieth of the cost, since nothing is looked up. That no two of them restate each other, that titles are
// free and that texts are clean is up to the caller; it is for test data. Space, Seq, Citations and the audit trail are filled in;
// model is that of the vectors.
func (s *Store) Load(ctx context.Context, by memory.Caller, space memory.SpaceKey, model string, all []Loaded) error {
	return s.Write(ctx, by.Org, []memory.SpaceKey{space}, func(write memory.Tx) error {
		t, ok := write.(*tx)
		if !ok {
			return fmt.Errorf("load within %T", write)
		}
		sp, err := t.held(t.Space(space).ID)
		if err != nil {
			return err
		}
		l := &load{tx: t, space: sp, by: by}
		for i := range all {
			if err := l.add(&all[i]); err != nil {
				return err
			}
		}
		l.queue()
		for i := range all {
			if v := all[i].Vector; v != nil {
				if err := t.SetVector(ctx, sp.ID, all[i].Seq, model, v); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// load collects the rows of many memories as columns.
type load struct {
	*tx
	space *lockedSpace
	by    memory.Caller

	ids, projects                          []uuid.UUID
	seqs, termCounts, citations, ignoredBy []int32
	handles, kinds, agents, users, origins []string
	unreviewed                             []bool
	created, confirmed                     []time.Time
	expires                                []*time.Time
	titles, texts, bodies                  [][]byte
	audits                                 []uuid.UUID
	events                                 []int64
	attached, elements                     []uuid.UUID
	attachedAt                             []time.Time
	reasons, attachedBy                    []string
	pathsOf, pathProjects                  []uuid.UUID
	ordinals                               []int32
	patterns, prefixes                     []string
	linksOf                                []uuid.UUID
	linkOrdinals                           []int32
	linkHashes, linkTargets                [][]byte
	posted                                 []int32 // numbers of terms, and whether the term is a tag
	terms                                  []int64
	isTag                                  []bool
	frequencies                            map[int64]int32
	cited                                  []uuid.UUID
	citing                                 []string
	citedAt                                []time.Time
}

// add collects the rows of one memory.
func (l *load) add(m *Loaded) error {
	r := &m.Record
	r.Space, r.Seq, r.Citations = l.space.ID, l.space.nextSeq, len(m.CitedBy)
	l.space.nextSeq++
	sealed, err := l.sealBody(r.ID, r.Revision, bodyOf(r))
	if err != nil {
		return err
	}
	ix := memory.IndexOf(&r.Memory)
	e := l.entry(ix)
	l.ids, l.projects, l.seqs = append(l.ids, r.ID), append(l.projects, r.ProjectID), append(l.seqs, r.Seq)
	l.handles, l.kinds, l.agents = append(l.handles, r.Handle), append(l.kinds, string(r.Kind)), append(l.agents, r.Agent)
	l.users, l.origins, l.unreviewed = append(l.users, r.User), append(l.origins, string(r.Origin)), append(l.unreviewed, r.Unreviewed)
	l.created, l.confirmed, l.expires = append(l.created, r.CreatedAt), append(l.confirmed, r.ConfirmedAt), append(l.expires, r.ExpiresAt)
	l.titles, l.texts, l.bodies = append(l.titles, e.title), append(l.texts, e.text), append(l.bodies, sealed)
	l.termCounts, l.citations = append(l.termCounts, int32(len(e.terms))), append(l.citations, int32(r.Citations)) //nolint:gosec // of one text
	l.ignoredBy = append(l.ignoredBy, int32(r.IgnoredBy))                                                          //nolint:gosec // sessions
	l.audits, l.events = append(l.audits, uuid.Must(uuid.NewV7())), append(l.events, l.space.nextEvent)
	l.space.nextEvent++
	for _, a := range m.Attached {
		l.attached, l.elements, l.attachedAt = append(l.attached, r.ID), append(l.elements, a.Element), append(l.attachedAt, r.CreatedAt)
		l.reasons, l.attachedBy = append(l.reasons, a.Reason), append(l.attachedBy, a.Path)
	}
	for i, p := range r.Paths {
		l.pathsOf, l.pathProjects, l.ordinals = append(l.pathsOf, r.ID), append(l.pathProjects, r.ProjectID), append(l.ordinals, int32(i+1))
		l.patterns, l.prefixes = append(l.patterns, p), append(l.prefixes, c4model.StaticPrefix(p))
	}
	for i, text := range ix.Links {
		target, err := l.keys.Seal(linkLocation(r.ID, i), []byte(text))
		if err != nil {
			return err
		}
		l.linksOf, l.linkOrdinals = append(l.linksOf, r.ID), append(l.linkOrdinals, int32(i))
		l.linkHashes, l.linkTargets = append(l.linkHashes, l.linkHash(text)), append(l.linkTargets, target)
	}
	if l.frequencies == nil {
		l.frequencies = map[int64]int32{}
	}
	for _, term := range e.terms {
		l.posted, l.terms, l.isTag = append(l.posted, r.Seq), append(l.terms, term), append(l.isTag, false)
		l.frequencies[term]++
	}
	for _, tag := range e.tags {
		l.posted, l.terms, l.isTag = append(l.posted, r.Seq), append(l.terms, tag), append(l.isTag, true)
	}
	for _, session := range m.CitedBy {
		l.cited, l.citing, l.citedAt = append(l.cited, r.ID), append(l.citing, session), append(l.citedAt, r.ConfirmedAt)
	}
	return nil
}

// queue puts the statements after what the transaction sends next. The columns are those of Insert, Cite and Audit.
func (l *load) queue() {
	b := &pgx.Batch{}
	// Without statistics a hash join over arrays is what reads them once.
	b.Queue(`SELECT set_config('enable_hashjoin', 'on', true)`)
	b.Queue(`
		INSERT INTO memories (org_id, memory_id, space_id, seq, project_id, handle, kind, status, agent, user_name, origin, unreviewed, created_at,
			confirmed_at, revision, expires_at, title_hash, text_hash, term_count, citations, ignored_by)
		SELECT $1, m.id, $2, m.seq, nullif(m.project, '00000000-0000-0000-0000-000000000000'), m.handle, m.kind, 'live', m.agent, m.user_name, m.origin,
			m.unreviewed, m.created, m.confirmed, 1, m.expires, m.title, m.text, m.terms, m.citations, m.ignored
		FROM unnest($3::uuid[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bool[], $12::timestamptz[],
			$13::timestamptz[], $14::timestamptz[], $15::bytea[], $16::bytea[], $17::int[], $18::int[], $19::int[])
			AS m (id, seq, project, handle, kind, agent, user_name, origin, unreviewed, created, confirmed, expires, title, text, terms, citations, ignored)`,
		l.org, l.space.ID, l.ids, l.seqs, l.projects, l.handles, l.kinds, l.agents, l.users, l.origins, l.unreviewed, l.created, l.confirmed, l.expires,
		l.titles, l.texts, l.termCounts, l.citations, l.ignoredBy)
	b.Queue(`INSERT INTO memory_versions (org_id, memory_id, revision, body, recorded_at, agent, user_name)
		SELECT $1, m.id, 1, m.body, m.created, m.agent, m.user_name
		FROM unnest($2::uuid[], $3::bytea[], $4::timestamptz[], $5::text[], $6::text[]) AS m (id, body, created, agent, user_name)`,
		l.org, l.ids, l.bodies, l.created, l.agents, l.users)
	b.Queue(`INSERT INTO attachments (org_id, memory_id, element_id, attached_at, reason, path)
		SELECT $1, a.* FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[]) AS a`,
		l.org, l.attached, l.elements, l.attachedAt, l.reasons, l.attachedBy)
	b.Queue(`INSERT INTO memory_paths (org_id, memory_id, ordinal, pattern, prefix, project_id)
		SELECT $1, p.id, p.ordinal, p.pattern, p.prefix, nullif(p.project, '00000000-0000-0000-0000-000000000000')
		FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::uuid[]) AS p (id, ordinal, pattern, prefix, project)`,
		l.org, l.pathsOf, l.ordinals, l.patterns, l.prefixes, l.pathProjects)
	b.Queue(`INSERT INTO links (org_id, memory_id, ordinal, target_hash, target)
		SELECT $1, k.* FROM unnest($2::uuid[], $3::int[], $4::bytea[], $5::bytea[]) AS k`, l.org, l.linksOf, l.linkOrdinals, l.linkHashes, l.linkTargets)
	// In the order of the key, so that pages of the index are filled one after the other.
	b.Queue(`INSERT INTO postings (org_id, space_id, term, seq) SELECT $1, $2, p.term, p.seq FROM unnest($3::bigint[], $4::int[]) AS p (term, seq) ORDER BY 3, 4`,
		l.org, l.space.ID, l.terms, l.posted)
	b.Queue(`INSERT INTO memory_terms (org_id, space_id, seq, terms, tags)
		SELECT $1, $2, p.seq, coalesce(array_agg(p.term ORDER BY p.term) FILTER (WHERE NOT p.tag), '{}'), coalesce(array_agg(p.term ORDER BY p.term) FILTER (WHERE p.tag), '{}')
		FROM unnest($3::int[], $4::bigint[], $5::bool[]) AS p (seq, term, tag) GROUP BY p.seq`, l.org, l.space.ID, l.posted, l.terms, l.isTag)
	words := slices.Sorted(maps.Keys(l.frequencies))
	counts := make([]int32, len(words))
	for i, w := range words {
		counts[i] = l.frequencies[w]
	}
	b.Queue(`INSERT INTO term_frequencies (org_id, space_id, term, df) SELECT $1, $2, w.* FROM unnest($3::bigint[], $4::int[]) AS w
		ON CONFLICT (org_id, space_id, term) DO UPDATE SET df = term_frequencies.df + excluded.df`, l.org, l.space.ID, words, counts)
	b.Queue(`INSERT INTO citations (org_id, memory_id, session_id, cited_at, observed)
		SELECT $1, c.id, c.session, c.at, false FROM unnest($2::uuid[], $3::text[], $4::timestamptz[]) AS c (id, session, at)`, l.org, l.cited, l.citing, l.citedAt)
	b.Queue(`INSERT INTO audit (org_id, audit_id, at, verb, subject_id, project_id, revision, agent, user_name, door, session_id, detail, space_id, event)
		SELECT $1, a.id, a.at, $2, a.subject, $3, 1, $4, $5, $6, $7, '{}', $8, a.event
		FROM unnest($9::uuid[], $10::timestamptz[], $11::uuid[], $12::bigint[]) AS a (id, at, subject, event)`,
		l.org, memory.VerbRemember, nullID(l.by.Project), l.by.Agent, l.by.User, l.by.Door, l.by.Session, l.space.ID, l.audits, l.created, l.ids, l.events)
	b.Queue(`UPDATE spaces SET next_seq = $3, next_event = $4, live = live + $5 WHERE org_id = $1 AND space_id = $2`,
		l.org, l.space.ID, l.space.nextSeq, l.space.nextEvent, len(l.ids))
	l.pipeline.later(b)
	l.space.Live += len(l.ids)
}
