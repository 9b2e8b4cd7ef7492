package postgres

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/internal/secret"
)

// sealedColumn is a column that holds ciphertext, described so that rotation can find every row and its secret.Location.
type sealedColumn struct {
	table, column string
	key           []keyColumn // the primary key without org_id, in its order
	row           []string    // SQL for secret.Location.Row; nil: the columns of the key, as texts
}

type keyColumn struct{ name, kind string }

// sealedColumns are all of them; a test compares them with the catalogue. The locations must equal those that seal and open
// use (bodyLocation, linkLocation, doubtLocation, remarkLocation, answerLocation).
var sealedColumns = []sealedColumn{ //nolint:gochecknoglobals // a constant table
	{table: "memory_versions", column: "body", key: []keyColumn{{"memory_id", "uuid"}, {"revision", "integer"}}},
	{table: "links", column: "target", key: []keyColumn{{"memory_id", "uuid"}, {"ordinal", "integer"}}},
	{table: "doubts", column: "reason", key: []keyColumn{{"doubt_id", "uuid"}}},
	{table: "remarks", column: "body", key: []keyColumn{{"remark_id", "uuid"}}},
	{table: "answers", column: "body", key: []keyColumn{{"key_hash", "bytea"}},
		row: []string{"encode(substring(key_hash FROM 1 FOR 16), 'hex')::uuid::text"}},
}

// sealedRow is one row of a page of a sealed column.
type sealedRow struct {
	key, row []string
	sealed   []byte
}

func (c sealedColumn) location(r sealedRow) secret.Location {
	return secret.Location{Table: c.table, Column: c.column, Row: r.row}
}

// older is the condition that a row is sealed by another data key than the one whose prefix is $2; $1 is the organization.
func (c sealedColumn) older() string {
	return fmt.Sprintf("org_id = $1 AND %[1]s IS NOT NULL AND substring(%[1]s FROM 1 FOR 5) <> $2", c.column)
}

// page gives a query for $3 rows that an older key sealed, with the parts of the key and of the location as arrays of texts.
// After the first page, $4 is the key of the last row before. Rows that somebody holds are left out: whoever rotates never
// waits for a writer, and so cannot be part of a circle of waiting.
func (c sealedColumn) page(first bool) string {
	names, texts, last := make([]string, len(c.key)), make([]string, len(c.key)), make([]string, len(c.key))
	for i, k := range c.key {
		names[i], texts[i] = k.name, k.name+"::text"
		last[i] = fmt.Sprintf("($4::text[])[%d]::%s", i+1, k.kind)
	}
	row := c.row
	if row == nil {
		row = texts
	}
	after := ""
	if !first {
		after = fmt.Sprintf(" AND (%s) > (%s)", strings.Join(names, ", "), strings.Join(last, ", "))
	}
	return fmt.Sprintf(`SELECT ARRAY[%s] AS key, ARRAY[%s] AS place, %s FROM %s WHERE %s%s ORDER BY %s LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED`,
		strings.Join(texts, ", "), strings.Join(row, ", "), c.column, c.table, c.older(), after, strings.Join(names, ", "))
}

// update gives a statement that replaces the ciphertexts of rows: $2 are the new ones, and from $3 on the parts of the keys,
// each an array of texts. They become values of the column's type before they are compared: under row-level security a
// comparison with a cast in it may not enter an index.
func (c sealedColumn) update() string {
	parameters, names, same := make([]string, len(c.key)), make([]string, len(c.key)), make([]string, len(c.key))
	for i, k := range c.key {
		parameters[i] = fmt.Sprintf("($%d::text[])::%s[]", i+3, k.kind)
		names[i] = fmt.Sprintf("k%d", i)
		same[i] = fmt.Sprintf("t.%s = v.k%d", k.name, i)
	}
	return fmt.Sprintf(`UPDATE %s AS t SET %s = v.sealed FROM unnest($2::bytea[], %s) AS v (sealed, %s) WHERE t.org_id = $1 AND %s`,
		c.table, c.column, strings.Join(parameters, ", "), strings.Join(names, ", "), strings.Join(same, " AND "))
}
