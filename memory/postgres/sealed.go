package postgres

import (
	"fmt"
	"strings"

	"github.com/stele-dev/stele/internal/secret"
)

// sealedColumn is a column of sealed texts, with the statements of a rotation.
type sealedColumn struct{ secret.Column }

func sealedColumns() []sealedColumn {
	all := secret.Columns()
	out := make([]sealedColumn, len(all))
	for i, c := range all {
		out[i] = sealedColumn{c}
	}
	return out
}

// sealedRow is one row of a page of a sealed column.
type sealedRow struct {
	key, row []string
	sealed   []byte
}

// older is the condition that a row is sealed by another data key than the one whose prefix is $2; $1 is the organization.
func (c sealedColumn) older() string {
	return fmt.Sprintf("org_id = $1 AND %[1]s IS NOT NULL AND substring(%[1]s FROM 1 FOR 5) <> $2", c.Column.Column)
}

// page gives a query for $3 rows that an older key sealed, with the parts of the key and of the location as arrays of texts.
// After the first page, $4 is the key of the last row before. Rows that somebody holds are left out: whoever rotates never
// waits for a writer, and so cannot be part of a circle of waiting.
func (c sealedColumn) page(first bool) string {
	names, texts, last := make([]string, len(c.Key)), make([]string, len(c.Key)), make([]string, len(c.Key))
	for i, k := range c.Key {
		names[i], texts[i] = k.Name, k.Name+"::text"
		last[i] = fmt.Sprintf("($4::text[])[%d]::%s", i+1, k.Type)
	}
	after := ""
	if !first {
		after = fmt.Sprintf(" AND (%s) > (%s)", strings.Join(names, ", "), strings.Join(last, ", "))
	}
	return fmt.Sprintf(`SELECT ARRAY[%s] AS key, ARRAY[%s] AS place, %s FROM %s WHERE %s%s ORDER BY %s LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED`,
		strings.Join(texts, ", "), strings.Join(c.Row(), ", "), c.Column.Column, c.Table, c.older(), after, strings.Join(names, ", "))
}

// update gives a statement that replaces the ciphertexts of rows: $2 are the new ones, and from $3 on the parts of the keys,
// each an array of texts. They become values of the column's type before they are compared: under row-level security a
// comparison with a cast in it may not enter an index.
func (c sealedColumn) update() string {
	parameters, names, same := make([]string, len(c.Key)), make([]string, len(c.Key)), make([]string, len(c.Key))
	for i, k := range c.Key {
		parameters[i] = fmt.Sprintf("($%d::text[])::%s[]", i+3, k.Type)
		names[i] = fmt.Sprintf("k%d", i)
		same[i] = fmt.Sprintf("t.%s = v.k%d", k.Name, i)
	}
	return fmt.Sprintf(`UPDATE %s AS t SET %s = v.sealed FROM unnest($2::bytea[], %s) AS v (sealed, %s) WHERE t.org_id = $1 AND %s`,
		c.Table, c.Column.Column, strings.Join(parameters, ", "), strings.Join(names, ", "), strings.Join(same, " AND "))
}
