package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/stele-dev/stele/memory"
)

// rankQuery builds the statement that looks candidates up and brings the best. Every value is a parameter; the text depends
// only on which conditions there are, so that a handful of prepared statements serves every recall. Its parts:
//
//	found      candidates with their relevance, as the search put them together (absent when everything is wanted)
//	standing   what else the score needs: one lookup in memories by its index for each candidate, or, when browsing, all
//	           live memories of the spaces; here kinds are sorted out
//	bar        the most relevance among all of standing
//	held       those within Share of the best, with what each may be the best of the query with (memory.Factors.Held)
//	(final)    these by score, nearer element, newer confirmed_at and handle, each with the most relevance and the most Held
//
// What is inside a LATERAL with OFFSET 0 runs once per row before it, whatever the planner believes about the sizes. The
// conditions there compare plain columns: under row-level security an expression such as a + b on the other side of a
// comparison may not enter an index, since its function is not leakproof.
type rankQuery struct {
	memory.Search
	org      uuid.UUID
	all      bool        // every live memory is a candidate
	among    []candidate // unless all
	distance map[place]int
	best     float64 // relevance known of others; Search.Best is their Held

	args []any
}

// spareCandidates are fetched beyond the limit, for scores that differ in the last bits between database and program.
const spareCandidates = 16

// arg adds a parameter and gives its placeholder.
func (q *rankQuery) arg(v any) string {
	q.args = append(q.args, v)
	return fmt.Sprintf("$%d", len(q.args))
}

// build gives the statement and its parameters; $1 is always the organization.
func (q *rankQuery) build() (sql string, args []any) {
	q.args = []any{q.org}
	with := "WITH "
	if !q.all {
		with += "found AS MATERIALIZED (\n" + q.candidates() + "),\n"
	}
	with += "standing AS MATERIALIZED (\n" + q.standing() + ")"
	return with + q.ordered(), q.args
}

func (q *rankQuery) candidates() string {
	// In the order of the index, which is nearly that of the table: pages are read once.
	among := slices.SortedFunc(slices.Values(q.among), func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.seq, b.seq))
	})
	n := len(among)
	spaces, seqs, relevance, distances := make([]int32, n), make([]int32, n), make([]float64, n), make([]int32, n)
	for i, f := range among {
		spaces[i], seqs[i], relevance[i], distances[i] = f.space, f.seq, f.relevance, int32(q.distance[f.place]) //nolint:gosec // the depth of a model
	}
	return fmt.Sprintf("\tSELECT space_id, seq, relevance, distance FROM unnest(%s::int[], %s::int[], %s::float8[], %s::int[]) AS f (space_id, seq, relevance, distance)",
		q.arg(spaces), q.arg(seqs), q.arg(relevance), q.arg(distances))
}

// standingColumns are what a score needs of a memory.
const standingColumns = "space_id, seq, memory_id, handle, kind, confirmed_at, citations, ignored_by, verify OR disputed AS doubted, unreviewed"

func (q *rankQuery) standing() string {
	kinds := ""
	if len(q.Narrow.Kinds) > 0 {
		kinds = " AND kind = ANY (" + q.arg(texts(q.Narrow.Kinds)) + ")"
	}
	if !q.all {
		return `	SELECT m.space_id, m.seq, m.memory_id, m.handle, m.kind, m.confirmed_at, m.citations, m.ignored_by, m.doubted, m.unreviewed,
		f.relevance, f.distance FROM found f
	CROSS JOIN LATERAL ` + bySeq(standingColumns, "f.space_id", "f.seq", kinds) + ` m`
	}
	expiry := ""
	if !q.Expired {
		expiry = " AND (expires_at IS NULL OR expires_at > " + q.arg(q.At) + ")"
	}
	return `	SELECT ` + standingColumns + `, 1::float8 AS relevance, 0 AS distance
	FROM memories WHERE org_id = $1 AND space_id = ANY (` + q.arg(q.Spaces) + `) AND status = 'live'` + kinds + expiry
}

// ordered orders by the score of memory.Ranking, factor by factor as Factors and Among compute them; the program computes
// the final score from the columns once more.
func (q *rankQuery) ordered() string {
	r := q.Ranking
	debits := strings.Join([]string{
		fmt.Sprintf("CASE WHEN citations = 0 AND ignored_by >= %s::int THEN %s::float8 ELSE 1 END", q.arg(r.IgnoredFrom), q.arg(r.Ignored)),
		fmt.Sprintf("CASE WHEN doubted THEN %s::float8 ELSE 1 END", q.arg(r.Doubt)),
		fmt.Sprintf("CASE WHEN unreviewed THEN %s::float8 ELSE 1 END", q.arg(r.Unreviewed)),
	}, " * ")
	near, share := "", "1"
	if !q.Browse {
		near = fmt.Sprintf("\n\tWHERE relevance >= %s::float8 * greatest(%s::float8, (SELECT relevance FROM bar))", q.arg(q.Share()), q.arg(q.best))
		// Without a best nothing is above it.
		share = fmt.Sprintf("power(least(1, coalesce(held / nullif(greatest(%s::float8, (SELECT max(held) FROM held)), 0), 1)), %s::float8)",
			q.arg(q.Best), q.arg(r.AdvantagePower))
	}
	var kind strings.Builder
	kind.WriteString("CASE kind")
	for _, k := range memory.Kinds {
		fmt.Fprintf(&kind, " WHEN %s THEN %s::float8", q.arg(string(k)), q.arg(r.Kind[k]-r.LeastKind()))
	}
	kind.WriteString(" END")
	// An age beyond a thousand half-lives would leave the range of power.
	age := fmt.Sprintf("greatest(0, date_part('epoch', %s::timestamptz - confirmed_at)) / %s::float8", q.arg(q.At), q.arg(r.HalfLife.Seconds()))
	rest := q.arg(r.FreshnessRest)
	score := strings.Join([]string{
		"held",
		fmt.Sprintf("(%s::float8 + share * %s)", q.arg(r.LeastKind()), kind.String()),
		fmt.Sprintf("(%[1]s::float8 + share * (1 - %[1]s::float8) * power(2::float8, -least(1000, %[2]s)))", rest, age),
		fmt.Sprintf("(1 + %s::float8 * least(1, ln(1 + citations::float8) / ln(1 + %s::float8)))", q.arg(r.CitationGain), q.arg(float64(r.CitationFull))),
	}, "\n\t* ")
	const columns = "space_id, seq, memory_id, handle, kind, confirmed_at, citations, ignored_by, doubted, unreviewed"
	return fmt.Sprintf(`,
bar AS MATERIALIZED (SELECT max(relevance) AS relevance FROM standing),
held AS MATERIALIZED (
	SELECT %[1]s, relevance, distance, relevance * %[2]s AS held
	FROM standing%[3]s)
SELECT %[1]s,
	(SELECT relevance FROM bar), (SELECT max(held) FROM held)
FROM (SELECT %[1]s, distance, held, %[4]s AS share FROM held) AS s
ORDER BY %[5]s DESC, distance, confirmed_at DESC, handle
LIMIT %[6]s`, columns, debits, near, share, score, q.arg(q.Limit+spareCandidates))
}

func texts[S ~string](in []S) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}
