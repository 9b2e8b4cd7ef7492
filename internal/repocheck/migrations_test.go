package repocheck

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The rules of docs/architecture.md for migrations, as far as the text of a file shows them. Package internal/postgres
// asks the catalogue of a migrated database the same questions, and more; here the answer names the line.

// lookups are tables that have an org_id and belong to no tenant: they are asked before a tenant is known. stele_app has
// no right on them, only on functions that answer one question.
var lookups = []string{"organization_names"}

var (
	migrationName = regexp.MustCompile(`^(\d{5})_[a-z0-9_]+\.sql$`)
	sqlComment    = regexp.MustCompile(`--[^\n]*`)
	createTable   = regexp.MustCompile(`(?is)\bCREATE TABLE (?:IF NOT EXISTS )?(\w+)\s*\((.*?)\n\)[^;]*;`)
	orgColumn     = regexp.MustCompile(`(?im)^\s*org_id\s+uuid\b`)
	inlinePrimary = regexp.MustCompile(`(?im)^\s*(\w+)\s+[^,]*\bPRIMARY KEY\b`)
	tableKey      = regexp.MustCompile(`(?is)\b(PRIMARY KEY|UNIQUE|FOREIGN KEY)\s*\(\s*(\w+)[^)]*\)(?:\s*REFERENCES\s+\w+\s*\(\s*(\w+))?`)
	uniqueIndex   = regexp.MustCompile(`(?is)\bCREATE UNIQUE INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(\w+)\s+ON\s+(\w+)\s*(?:USING \w+\s*)?\(\s*(\w+)`)
	quotedName    = regexp.MustCompile(`'(\w+)'`)
	policyLoop    = regexp.MustCompile(`(?is)FOREACH t IN ARRAY ARRAY\[(.*?)\]`)
	forcedAlone   = regexp.MustCompile(`(?i)\bALTER TABLE (\w+) FORCE ROW LEVEL SECURITY`)
)

// forbidden is what makes a schema unsafe behind several replicas or on Citus, each with its reason.
var forbidden = []struct {
	pattern *regexp.Regexp
	reason  string
}{
	{regexp.MustCompile(`(?i)\bON DELETE SET NULL\b`), "ON DELETE SET NULL would clear org_id too, and Citus refuses it"},
	{regexp.MustCompile(`(?i)\b(now|clock_timestamp|statement_timestamp|gen_random_uuid)\(\)|\bCURRENT_TIMESTAMP\b`), "times and ids come from the caller as parameters"},
	{regexp.MustCompile(`(?i)\bNOTIFY\b|\bpg_notify\b`), "Citus allows no NOTIFY inside a trigger"},
	{regexp.MustCompile(`(?i)\bserial\b|\bGENERATED (ALWAYS|BY DEFAULT) AS IDENTITY\b`), "a sequence counts for all tenants at once"},
}

func migrationFaults(tree fs.FS, files []string) (complaints []string, err error) {
	secured := map[string]bool{}
	type table struct{ name, at string }
	var tenants []table
	for i, name := range under(files, "migrations", "*.sql") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		if m := migrationName.FindStringSubmatch(path.Base(name)); m == nil {
			complaints = append(complaints, name+": the name is not NNNNN_words.sql")
		} else if want := fmt.Sprintf("%05d", i+1); m[1] != want {
			complaints = append(complaints, fmt.Sprintf("%s: the number should be %s, so that nothing is applied out of order", name, want))
		}
		if !strings.HasPrefix(string(text), "-- Why: ") {
			complaints = append(complaints, name+`: the file does not open with "-- Why: "`)
		}
		// Comments become blanks, so that places stay where they are.
		sql := sqlComment.ReplaceAllStringFunc(string(text), func(c string) string { return strings.Repeat(" ", len(c)) })
		at := func(offset int) string { return fmt.Sprintf("%s:%d", name, 1+strings.Count(sql[:offset], "\n")) }
		for _, f := range forbidden {
			for _, m := range f.pattern.FindAllStringIndex(sql, -1) {
				complaints = append(complaints, fmt.Sprintf("%s: %s: %s", at(m[0]), sql[m[0]:m[1]], f.reason))
			}
		}
		for _, m := range createTable.FindAllStringSubmatchIndex(sql, -1) {
			name, body := sql[m[2]:m[3]], sql[m[4]:m[5]]
			if !orgColumn.MatchString(body) || slices.Contains(lookups, name) {
				continue
			}
			tenants = append(tenants, table{name, at(m[0])})
			complaints = append(complaints, keyFaults(name, at(m[0]), body)...)
		}
		for _, m := range uniqueIndex.FindAllStringSubmatchIndex(sql, -1) {
			if index, on, first := sql[m[2]:m[3]], sql[m[4]:m[5]], sql[m[6]:m[7]]; first != "org_id" && !slices.Contains(lookups, on) {
				complaints = append(complaints, fmt.Sprintf("%s: unique index %s of %s begins with %s, not org_id", at(m[0]), index, on, first))
			}
		}
		for _, m := range policyLoop.FindAllStringSubmatch(sql, -1) {
			for _, q := range quotedName.FindAllStringSubmatch(m[1], -1) {
				secured[q[1]] = true
			}
		}
		for _, m := range forcedAlone.FindAllStringSubmatch(sql, -1) {
			secured[m[1]] = true
		}
	}
	for _, t := range tenants {
		if !secured[t.name] {
			complaints = append(complaints, fmt.Sprintf("%s: table %s has org_id and no forced row-level security", t.at, t.name))
		}
	}
	return complaints, nil
}

// keyFaults looks at the keys declared inside a table.
func keyFaults(name, at, body string) (complaints []string) {
	primary := false
	for _, m := range inlinePrimary.FindAllStringSubmatch(body, -1) {
		if strings.EqualFold(m[1], "PRIMARY") || strings.EqualFold(m[1], "CONSTRAINT") {
			continue
		}
		primary = true
		if m[1] != "org_id" {
			complaints = append(complaints, fmt.Sprintf("%s: the primary key of %s is %s, not org_id and more", at, name, m[1]))
		}
	}
	for _, m := range tableKey.FindAllStringSubmatch(body, -1) {
		kind, first, there := strings.ToUpper(m[1]), m[2], m[3]
		primary = primary || kind == "PRIMARY KEY"
		if first != "org_id" || (kind == "FOREIGN KEY" && there != "org_id") {
			complaints = append(complaints, fmt.Sprintf("%s: a %s of %s does not begin with org_id", at, strings.ToLower(kind), name))
		}
	}
	if !primary {
		complaints = append(complaints, fmt.Sprintf("%s: table %s has no primary key", at, name))
	}
	return complaints
}

func TestMigrationsKeepTheirRules(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	complaints, err := migrationFaults(tree, files)
	report(t, complaints, err)

	// The patterns must see the tables at all.
	text, err := fs.ReadFile(tree, "migrations/00001_core.sql")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(createTable.FindAllString(string(text), -1)), strings.Count(string(text), "\nCREATE TABLE "); got != want || got < 20 {
		t.Errorf("the check sees %d tables of %d", got, want)
	}
}

func TestMigrationChecksFindFaults(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"migrations/00001_good.sql": {Data: []byte(`-- Why: all is well, though now() is named here.
CREATE TABLE tenants (
    org_id uuid PRIMARY KEY,
    name   text NOT NULL -- PRIMARY KEY (name) would be wrong
);
CREATE TABLE things (
    org_id uuid NOT NULL,
    id     uuid NOT NULL,
    PRIMARY KEY (org_id, id),
    FOREIGN KEY (org_id, id) REFERENCES tenants (org_id, id)
) WITH (fillfactor = 70);
CREATE TABLE organization_names (
    name   text PRIMARY KEY,
    org_id uuid NOT NULL
);
CREATE UNIQUE INDEX things_id ON things (org_id, id);
DO $$ BEGIN FOREACH t IN ARRAY ARRAY['tenants',
    'things'] LOOP NULL; END LOOP; END $$;
`)},
		"migrations/00003_bad.sql": {Data: []byte(`CREATE TABLE loose (
    org_id uuid NOT NULL,
    id     uuid NOT NULL REFERENCES things (id) ON DELETE SET NULL,
    made   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (id, org_id),
    UNIQUE (id),
    FOREIGN KEY (org_id, id) REFERENCES things (id, org_id)
);
CREATE TABLE keyless (
    org_id uuid NOT NULL
);
CREATE UNIQUE INDEX loose_id ON loose USING btree (id);
ALTER TABLE keyless FORCE ROW LEVEL SECURITY;
`)},
	}
	got, err := migrationFaults(tree, []string{"migrations/00001_good.sql", "migrations/00003_bad.sql"})
	expect(t, got, err,
		"00003_bad.sql: the number should be 00002", `does not open with "-- Why: "`,
		":3: ON DELETE SET NULL", ":4: now()",
		"a primary key of loose", "a unique of loose", "a foreign key of loose", "table keyless has no primary key",
		"unique index loose_id of loose begins with id", "table loose has org_id and no forced row-level security")
}
