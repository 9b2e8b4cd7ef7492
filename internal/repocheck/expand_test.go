package repocheck

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// Servers are replaced one by one (docs/operations.md, "Upgrading"), so for a while an older program serves a newer schema.
// A migration that could break it must say which programs can live with it: the floor. Migrations are written by hand and
// few, so the checks below look at the text and err on the side of asking.

// narrowing are statements that take away, or make stricter, what an older program may count on. A capture names what the
// statement is about; one on something that the same file creates is harmless.
var narrowing = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`(?i)\bDROP\s+(?:TABLE|VIEW|MATERIALIZED VIEW|FUNCTION|TYPE|SCHEMA|SEQUENCE|INDEX)\s+(?:CONCURRENTLY\s+)?(?:IF EXISTS\s+)?(\w+)`), "drops something"},
	{regexp.MustCompile(`(?i)\bALTER TABLE\s+(?:IF EXISTS\s+)?(?:ONLY\s+)?(\w+)[^;]*?\bDROP\s+(?:COLUMN|CONSTRAINT|DEFAULT|NOT NULL|EXPRESSION)\b`), "drops a part of a table"},
	{regexp.MustCompile(`(?i)\bALTER TABLE\s+(?:IF EXISTS\s+)?(?:ONLY\s+)?(\w+)[^;]*?\bALTER\s+(?:COLUMN\s+)?\w+\s+DROP\b`), "drops a part of a column"},
	{regexp.MustCompile(`(?i)\bALTER\s+(?:TABLE|VIEW|FUNCTION|TYPE|INDEX)\s+(?:IF EXISTS\s+)?(\w+)[^;]*?\bRENAME\b`), "renames something"},
	{regexp.MustCompile(`(?i)\bALTER TABLE\s+(?:ONLY\s+)?(\w+)[^;]*?\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET DATA\s+)?TYPE\b`), "changes the type of a column"},
	{regexp.MustCompile(`(?i)\bALTER TABLE\s+(?:ONLY\s+)?(\w+)[^;]*?\bSET NOT NULL\b`), "makes a column NOT NULL"},
	{regexp.MustCompile(`(?i)\bALTER TABLE\s+(?:ONLY\s+)?(\w+)[^;]*?\bADD\s+(?:CONSTRAINT\s+\w+\s+)?(?:CHECK|UNIQUE|PRIMARY KEY|FOREIGN KEY|EXCLUDE)\b`), "adds a constraint to a table"},
	{regexp.MustCompile(`(?i)\bCREATE UNIQUE INDEX\s+(?:CONCURRENTLY\s+)?(?:IF NOT EXISTS\s+)?\w+\s+ON\s+(?:ONLY\s+)?(\w+)`), "adds a unique index to a table"},
	{regexp.MustCompile(`(?i)\b(?:DROP|ALTER) POLICY\s+(?:IF EXISTS\s+)?\w+\s+ON\s+(\w+)`), "changes a policy"},
	{regexp.MustCompile(`(?i)\bCREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER\s+\w+[^;]*?\bON\s+(\w+)`), "adds a trigger to a table"},
	{regexp.MustCompile(`(?i)\bCREATE OR REPLACE (?:FUNCTION|VIEW|PROCEDURE)\s+(\w+)`), "replaces something"},
	{regexp.MustCompile(`(?i)\bREVOKE\b[^;]*?\bON\s+(?:FUNCTION\s+|TABLE\s+)?(\w+)[^;]*\bFROM\b[^;]*\bstele_app\b`), "takes a right away"},
	{regexp.MustCompile(`(?i)\b(?:DELETE FROM|TRUNCATE(?: TABLE)?)\s+(\w+)`), "removes rows"},
}

var (
	floorFunction  = regexp.MustCompile(`(?is)\bCREATE (?:OR REPLACE )?FUNCTION schema_floor\(\)[^;]*?'\s*SELECT\s+(\d+)::bigint\s*'`)
	created        = regexp.MustCompile(`(?i)\bCREATE (?:OR REPLACE )?(?:UNIQUE )?(?:TABLE|FUNCTION|VIEW|INDEX|TYPE)\s+(?:CONCURRENTLY\s+)?(?:IF NOT EXISTS\s+)?(\w+)`)
	addColumn      = regexp.MustCompile(`(?is)\bALTER TABLE\s+(?:IF EXISTS\s+)?(?:ONLY\s+)?(\w+)([^;]*);`)
	columnClause   = regexp.MustCompile(`(?is)\bADD COLUMN\s+(?:IF NOT EXISTS\s+)?(\w+)((?:[^,(]|\([^)]*\))*)`)
	createIndex    = regexp.MustCompile(`(?i)\bCREATE (?:UNIQUE )?INDEX\s+(CONCURRENTLY\s+)?(?:IF NOT EXISTS\s+)?(\w+)\s+ON\s+(?:ONLY\s+)?(\w+)`)
	noTransaction  = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION\s*$`)
	gooseDown      = regexp.MustCompile(`(?m)^-- \+goose Down\s*$`)
	otherStatement = regexp.MustCompile(`(?im)^[ \t]*(?:CREATE (?:TABLE|FUNCTION|OR REPLACE)|ALTER|INSERT|UPDATE|DELETE|GRANT|REVOKE|DO)\b`)
)

// firstRuled is the first migration that the rule about indexes holds for: the two before it were released together with
// the rule, on tables that were small then.
const firstRuled = 3

// expandFaults complains about migrations that an older program may not live with and that do not say so, about floors
// that fall or that no program could have, and about statements that stop everyone while an index is built.
func expandFaults(tree fs.FS, files []string) (complaints []string, err error) {
	floor := int64(1)
	for _, name := range under(files, "migrations", "*.sql") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		m := migrationName.FindStringSubmatch(path.Base(name))
		if m == nil {
			continue // said by migrationFaults
		}
		number, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return nil, err
		}
		if number == 1 {
			continue
		}
		up := string(text)
		if down := gooseDown.FindStringIndex(up); down != nil {
			up = up[:down[0]]
		}
		alone := noTransaction.MatchString(up)
		sql := sqlComment.ReplaceAllStringFunc(up, func(c string) string { return strings.Repeat(" ", len(c)) })
		complain := func(offset int, format string, args ...any) {
			complaints = append(complaints, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(sql[:offset], "\n"), fmt.Sprintf(format, args...)))
		}
		stated := floorFunction.FindAllStringSubmatchIndex(sql, -1)
		for _, s := range stated {
			n, err := strconv.ParseInt(sql[s[2]:s[3]], 10, 64)
			if err != nil || n < floor || n > number {
				complain(s[0], "the floor is %s; it may neither fall below %d nor be above this migration", sql[s[2]:s[3]], floor)
			}
			floor = max(floor, n)
		}
		if len(stated) == 0 {
			for _, f := range narrowed(sql) {
				complain(f.at, "%s, which an older program may count on: state the floor with schema_floor()", f.what)
			}
		}
		if number < firstRuled {
			continue
		}
		complaints = append(complaints, indexFaults(name, sql, alone)...)
	}
	return complaints, nil
}

type narrowedAt struct {
	at   int
	what string
}

// narrowed finds statements that take something away from what was there before the file.
func narrowed(sql string) (found []narrowedAt) {
	own := map[string]bool{"schema_floor": true}
	for _, m := range created.FindAllStringSubmatch(sql, -1) {
		if !strings.Contains(strings.ToUpper(m[0]), "OR REPLACE") {
			own[m[1]] = true
		}
	}
	for _, n := range narrowing {
		for _, m := range n.pattern.FindAllStringSubmatchIndex(sql, -1) {
			if !own[sql[m[2]:m[3]]] {
				found = append(found, narrowedAt{m[0], n.what})
			}
		}
	}
	for _, m := range addColumn.FindAllStringSubmatchIndex(sql, -1) {
		for _, c := range columnClause.FindAllStringSubmatch(sql[m[4]:m[5]], -1) {
			clause := strings.ToUpper(c[2])
			if strings.Contains(clause, "NOT NULL") && !strings.Contains(clause, "DEFAULT") && !own[sql[m[2]:m[3]]] {
				found = append(found, narrowedAt{m[0], "adds the column " + c[1] + " that is NOT NULL and has no DEFAULT"})
			}
		}
	}
	slices.SortFunc(found, func(a, b narrowedAt) int { return a.at - b.at })
	return found
}

// indexFaults complains about indexes that lock a table in use, and about concurrent ones that a failure would leave
// unusable: an index that could not be built stays, invalid, and IF NOT EXISTS would take it for good.
func indexFaults(name, sql string, alone bool) (complaints []string) {
	complain := func(offset int, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(sql[:offset], "\n"), fmt.Sprintf(format, args...)))
	}
	tables := map[string]bool{}
	for _, m := range createTable.FindAllStringSubmatch(sql, -1) {
		tables[m[1]] = true
	}
	for _, m := range createIndex.FindAllStringSubmatchIndex(sql, -1) {
		index, table := sql[m[4]:m[5]], sql[m[6]:m[7]]
		switch concurrently := m[2] >= 0; {
		case tables[table]:
		case !concurrently:
			complain(m[0], "building index %s stops every write to %s: CREATE INDEX CONCURRENTLY, in a file of its own", index, table)
		case !alone:
			complain(m[0], "index %s cannot be built concurrently in a transaction: -- +goose NO TRANSACTION", index)
		case !regexp.MustCompile(`(?i)\bDROP INDEX CONCURRENTLY IF EXISTS ` + index + `\s*;`).MatchString(sql[:m[0]]):
			complain(m[0], "an unfinished index %s of a failed attempt would stay: DROP INDEX CONCURRENTLY IF EXISTS before it", index)
		}
	}
	if alone {
		for _, m := range otherStatement.FindAllStringIndex(sql, -1) {
			complain(m[0], "a failure would leave a file without a transaction half applied: only indexes belong there")
		}
	}
	return complaints
}

func TestMigrationsExpandFirst(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := expandFaults(tree, files)
	report(t, complaints, err)
	// The file that begins to state the floor is seen at all, and so is what it does to tables that were there.
	text, err := fs.ReadFile(tree, "migrations/00002_server.sql")
	if err != nil {
		t.Fatal(err)
	}
	if !floorFunction.Match(text) {
		t.Error("the check does not see the floor in 00002_server.sql")
	}
}

func TestExpandChecksFindFaults(t *testing.T) {
	t.Parallel()
	const floor = "CREATE OR REPLACE FUNCTION schema_floor() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT %d::bigint';\n"
	const table = "CREATE TABLE fresh (\n    org_id uuid NOT NULL\n);\n"
	for name, test := range map[string]struct {
		sql  string
		want []string
	}{
		"adds": {table + `ALTER TABLE old ADD COLUMN a text, ADD COLUMN b int NOT NULL DEFAULT 0;
CREATE INDEX fresh_a ON fresh (org_id); CREATE UNIQUE INDEX fresh_b ON fresh (org_id);
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; REVOKE ALL ON FUNCTION f() FROM PUBLIC;
REVOKE DELETE ON fresh FROM stele_app; ALTER TABLE fresh ADD CONSTRAINT c CHECK (true); -- DROP TABLE old
`, nil},
		"Down does not count":        {"-- +goose Down\nDROP TABLE old;\n", nil},
		"drops a table":              {"DROP TABLE IF EXISTS old;\n", []string{":2: drops something"}},
		"drops and says so":          {"DROP TABLE old;\n" + fmt.Sprintf(floor, 3), nil},
		"drops a column":             {"ALTER TABLE old ADD COLUMN a text,\n  DROP COLUMN b;\n", []string{":2: drops a part of a table"}},
		"drops what it may be null":  {"ALTER TABLE old ALTER a DROP NOT NULL;\n", []string{":2: drops a part of a table", ":2: drops a part of a column"}},
		"renames":                    {"ALTER TABLE old RENAME COLUMN a TO b;\n", []string{":2: renames"}},
		"changes a type":             {"ALTER TABLE old ALTER COLUMN a TYPE bigint;\n", []string{":2: changes the type"}},
		"makes it required":          {"ALTER TABLE old ALTER COLUMN a SET NOT NULL;\n", []string{":2: makes a column NOT NULL"}},
		"required and no default":    {"ALTER TABLE old ADD COLUMN a numeric(3, 1) NOT NULL, ADD COLUMN b int NOT NULL DEFAULT 0;\n", []string{":2: adds the column a"}},
		"a check":                    {"ALTER TABLE old ADD CONSTRAINT c CHECK (a > 0);\n", []string{":2: adds a constraint"}},
		"unique, and locks":          {"CREATE UNIQUE INDEX old_a ON old (org_id, a);\n", []string{":2: adds a unique index", ":2: building index old_a"}},
		"a policy":                   {"DROP POLICY tenant ON old;\n", []string{":2: changes a policy"}},
		"a trigger":                  {"CREATE TRIGGER g BEFORE INSERT ON old EXECUTE FUNCTION f();\n", []string{":2: adds a trigger"}},
		"replaces a function":        {"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2';\n", []string{":2: replaces"}},
		"takes a right":              {"REVOKE UPDATE ON old FROM stele_app;\n", []string{":2: takes a right"}},
		"deletes":                    {"DELETE FROM old WHERE true;\n", []string{":2: removes rows"}},
		"a floor that falls":         {fmt.Sprintf(floor, 1), []string{":2: the floor is 1"}},
		"a floor nobody has":         {fmt.Sprintf(floor, 4), []string{":2: the floor is 4"}},
		"concurrently and alone":     {"-- +goose NO TRANSACTION\nDROP INDEX CONCURRENTLY IF EXISTS old_a;\nCREATE INDEX CONCURRENTLY old_a ON old (org_id, a);\n", nil},
		"concurrently, no clean-up":  {"-- +goose NO TRANSACTION\nCREATE INDEX CONCURRENTLY IF NOT EXISTS old_a ON old (org_id, a);\n", []string{":3: an unfinished index old_a"}},
		"concurrently, transaction":  {"DROP INDEX CONCURRENTLY IF EXISTS old_a;\nCREATE INDEX CONCURRENTLY old_a ON old (org_id, a);\n", []string{":3: index old_a cannot be built"}},
		"more in a file of its own":  {"-- +goose NO TRANSACTION\nALTER TABLE old ADD COLUMN a text;\n", []string{":3: a failure would leave"}},
		"drops an index of the past": {"-- +goose NO TRANSACTION\nDROP INDEX CONCURRENTLY old_b;\n", []string{":3: drops something"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{
				"migrations/00001_first.sql":  {Data: []byte("DROP TABLE free_to_do_so;\n")},
				"migrations/00002_second.sql": {Data: []byte(fmt.Sprintf(floor, 2))},
				"migrations/00003_third.sql":  {Data: []byte("-- Why: a test.\n" + test.sql)},
			}
			got, err := expandFaults(tree, []string{"migrations/00001_first.sql", "migrations/00002_second.sql", "migrations/00003_third.sql"})
			expect(t, got, err, test.want...)
		})
	}
}
