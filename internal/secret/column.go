package secret

// Column is a column that holds sealed texts, described so that every row and its Location can be found.
type Column struct {
	Table, Column string
	Key           []KeyColumn // the primary key without org_id, in its order
	row           []string
}

// KeyColumn is a column of a primary key.
type KeyColumn struct{ Name, Type string }

// Row gives SQL, as texts, for Location.Row of a row of the table.
func (c Column) Row() []string {
	if c.row != nil {
		return c.row
	}
	row := make([]string, len(c.Key))
	for i, k := range c.Key {
		row[i] = k.Name + "::text"
	}
	return row
}

// Location gives the place of the row for which the database computed Row.
func (c Column) Location(row []string) Location {
	return Location{Table: c.Table, Column: c.Column, Row: row}
}

// Columns are all columns of sealed texts: what a rotation seals anew and the verification of a backup opens. A test of the
// package that seals them compares the list with the schema and with the places it seals for.
func Columns() []Column {
	return []Column{
		{Table: "memory_versions", Column: "body", Key: []KeyColumn{{"memory_id", "uuid"}, {"revision", "integer"}}},
		{Table: "links", Column: "target", Key: []KeyColumn{{"memory_id", "uuid"}, {"ordinal", "integer"}}},
		{Table: "doubts", Column: "reason", Key: []KeyColumn{{"doubt_id", "uuid"}}},
		{Table: "remarks", Column: "body", Key: []KeyColumn{{"remark_id", "uuid"}}},
		{Table: "work_sessions", Column: "body", Key: []KeyColumn{{"session_id", "uuid"}}},
		{Table: "follow_ups", Column: "body", Key: []KeyColumn{{"follow_up_id", "uuid"}}},
		{Table: "review_decisions", Column: "note", Key: []KeyColumn{{"decision_id", "uuid"}}},
		{Table: "answers", Column: "body", Key: []KeyColumn{{"key_hash", "bytea"}}, // a hash has no id; its first half is one
			row: []string{"encode(substring(key_hash FROM 1 FOR 16), 'hex')::uuid::text"}},
	}
}
