package repocheck

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Citus distributes the tables of tenants by org_id and copies lookup tables to every node. What it asks of a schema, as
// far as migrations show it: org_id in every primary key, unique and foreign key (migrationFaults looks at those inside
// CREATE TABLE), foreign keys between tables that are distributed alike, and no table that is neither. docs/operations.md
// prints the statements that distribute; they must name every table, those referred to first.

var (
	anyTable        = regexp.MustCompile(`(?i)\bCREATE TABLE\b`)
	dropTable       = regexp.MustCompile(`(?i)\bDROP TABLE\s+(?:IF EXISTS\s+)?(\w+(?:\s*,\s*\w+)*)`)
	inlineReference = regexp.MustCompile(`(?im)^\s*(\w+)\s[^,\n]*\bREFERENCES\s+(\w+)`)
	inlineUnique    = regexp.MustCompile(`(?im)^\s*(\w+)\s[^,(\n]*\bUNIQUE\b`)
	keyReference    = regexp.MustCompile(`(?is)\bFOREIGN KEY\s*\([^)]*\)\s*REFERENCES\s+(\w+)`)
	addedKey        = regexp.MustCompile(`(?is)\bALTER TABLE\s+(?:ONLY\s+)?(\w+)[^;]*?\bADD\s+(?:CONSTRAINT\s+\w+\s+)?(PRIMARY KEY|UNIQUE|FOREIGN KEY)\s*\(\s*(\w+)`)
	addedReference  = regexp.MustCompile(`(?is)\bADD COLUMN\s+(?:IF NOT EXISTS\s+)?(\w+)[^,;]*\bREFERENCES\b`)
	exclusion       = regexp.MustCompile(`(?i)\bEXCLUDE\b`)
	onDistribute    = regexp.MustCompile(`create_(distributed|reference)_table\('(\w+)'(?:, '(\w+)')?(?:, colocate_with => '(\w+)')?\)`)
)

// tableOnCitus is a table of the schema with the tables it refers to.
type tableOnCitus struct {
	name   string
	tenant bool
	refers []string
}

// tablesOf gives the tables that migrations create and leave, in order, and complains about what Citus would refuse.
func tablesOf(tree fs.FS, files []string) (tables []tableOnCitus, complaints []string, err error) {
	tenant := map[string]bool{}
	for _, name := range under(files, "migrations", "*.sql") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, nil, err
		}
		sql := sqlComment.ReplaceAllStringFunc(string(text), func(c string) string { return strings.Repeat(" ", len(c)) })
		complain := func(offset int, format string, args ...any) {
			complaints = append(complaints, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(sql[:offset], "\n"), fmt.Sprintf(format, args...)))
		}
		found := createTable.FindAllStringSubmatchIndex(sql, -1)
		if seen, all := len(found), len(anyTable.FindAllString(sql, -1)); seen != all {
			complaints = append(complaints, fmt.Sprintf("%s: %d tables are created and %d are written as the checks read them", name, all, seen))
		}
		for _, m := range found {
			t, body := tableOnCitus{name: sql[m[2]:m[3]]}, sql[m[4]:m[5]]
			lookup := slices.Contains(lookups, t.name)
			t.tenant = orgColumn.MatchString(body) && !lookup
			tenant[t.name] = t.tenant
			if !t.tenant && !lookup {
				complain(m[0], "table %s has no org_id and is no lookup table, so nothing says how it is distributed", t.name)
			}
			for _, r := range inlineReference.FindAllStringSubmatch(body, -1) {
				if !strings.EqualFold(r[1], "FOREIGN") {
					t.refers = append(t.refers, r[2])
					if r[1] != "org_id" {
						complain(m[0], "table %s: a foreign key of %s alone does not hold org_id", t.name, r[1])
					}
				}
			}
			for _, u := range inlineUnique.FindAllStringSubmatch(body, -1) {
				if t.tenant && !strings.EqualFold(u[1], "UNIQUE") && !strings.EqualFold(u[1], "CONSTRAINT") {
					complain(m[0], "table %s: %s alone is unique across organizations", t.name, u[1])
				}
			}
			for _, r := range keyReference.FindAllStringSubmatch(body, -1) {
				t.refers = append(t.refers, r[1])
			}
			for _, r := range t.refers {
				if known, ok := tenant[r]; !ok || known != t.tenant {
					complain(m[0], "table %s refers to %s, which is not distributed like it or is created later", t.name, r)
				}
			}
			tables = append(tables, t)
		}
		for _, m := range dropTable.FindAllStringSubmatch(sql, -1) {
			for gone := range strings.SplitSeq(m[1], ",") {
				tables = slices.DeleteFunc(tables, func(t tableOnCitus) bool { return t.name == strings.TrimSpace(gone) })
			}
		}
		for _, m := range addedKey.FindAllStringSubmatchIndex(sql, -1) {
			if first := sql[m[6]:m[7]]; first != "org_id" {
				complain(m[0], "a %s added to %s begins with %s, not org_id", strings.ToLower(sql[m[4]:m[5]]), sql[m[2]:m[3]], first)
			}
		}
		for _, m := range addedReference.FindAllStringSubmatchIndex(sql, -1) {
			complain(m[0], "the added column %s refers to another table by itself, without org_id", sql[m[2]:m[3]])
		}
		for _, m := range exclusion.FindAllStringIndex(sql, -1) {
			complain(m[0], "an exclusion constraint needs org_id with =, which no check here reads: use a unique key")
		}
	}
	return tables, complaints, nil
}

// distributionFaults compares the statements that a text prints with the tables there are.
func distributionFaults(tables []tableOnCitus, text string) (complaints []string) {
	kinds, place := map[string]string{}, map[string]int{}
	for n, m := range onDistribute.FindAllStringSubmatch(text, -1) {
		kind, table, by, with := m[1], m[2], m[3], m[4]
		if kinds[table] != "" {
			complaints = append(complaints, table+" is distributed twice")
		}
		kinds[table], place[table] = kind, n+1
		if kind == "distributed" && by != "org_id" {
			complaints = append(complaints, fmt.Sprintf("%s is distributed by %q", table, by))
		}
		if kind == "distributed" && with == "" && table != "organizations" || with != "" && with != "organizations" {
			complaints = append(complaints, table+" does not lie with organizations")
		}
	}
	for _, t := range tables {
		want := "reference"
		if t.tenant {
			want = "distributed"
		}
		switch {
		case kinds[t.name] != want:
			complaints = append(complaints, fmt.Sprintf("%s should be %s by a statement", t.name, want))
		default:
			for _, r := range t.refers {
				if place[r] > place[t.name] {
					complaints = append(complaints, fmt.Sprintf("%s comes before %s, to which it refers", t.name, r))
				}
			}
		}
		delete(kinds, t.name)
	}
	for table := range kinds {
		complaints = append(complaints, table+" is no table of the schema")
	}
	return complaints
}

func TestSchemaCanBeDistributed(t *testing.T) {
	t.Parallel()
	tree, files := repository(t)
	tables, complaints, err := tablesOf(tree, files)
	report(t, complaints, err)
	text, err := fs.ReadFile(tree, "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	report(t, distributionFaults(tables, string(text)), nil)
}

func TestCitusChecksFindFaults(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"migrations/00001_a.sql": {Data: []byte(`CREATE TABLE organizations (
    org_id uuid PRIMARY KEY
);
CREATE TABLE organization_names (
    name   text PRIMARY KEY,
    org_id uuid NOT NULL
);
CREATE TABLE things (
    org_id uuid NOT NULL REFERENCES organizations (org_id),
    id     uuid NOT NULL,
    PRIMARY KEY (org_id, id),
    FOREIGN KEY (org_id, id) REFERENCES things (org_id, id)
);
`)}, "migrations/00002_b.sql": {Data: []byte(`CREATE TABLE numbers (
    n int
);
CREATE TABLE loose (
    org_id uuid NOT NULL,
    id     uuid NOT NULL REFERENCES things (id),
    name   text UNIQUE,
    FOREIGN KEY (org_id, id) REFERENCES organization_names (org_id, name)
);
CREATE TABLE short (org_id uuid);
ALTER TABLE things ADD CONSTRAINT one UNIQUE (id, org_id);
ALTER TABLE things ADD COLUMN other uuid REFERENCES things (id);
ALTER TABLE things ADD EXCLUDE USING gist (id WITH =);
`)}}
	files := []string{"migrations/00001_a.sql", "migrations/00002_b.sql"}
	tables, got, err := tablesOf(tree, files)
	expect(t, got, err, "3 tables are created and 2 are written", "table numbers has no org_id", "a foreign key of id alone", "name alone is unique",
		"loose refers to organization_names", "a unique added to things", "the added column other", "an exclusion constraint")

	good := `SELECT create_reference_table('organization_names');
SELECT create_distributed_table('organizations', 'org_id');
SELECT create_distributed_table('things', 'org_id', colocate_with => 'organizations');`
	expect(t, distributionFaults(tables[:3], good), nil)
	expect(t, distributionFaults(tables[:3], `SELECT create_distributed_table('things', 'id', colocate_with => 'organizations');
SELECT create_distributed_table('organizations', 'org_id');
SELECT create_distributed_table('organizations', 'org_id');
SELECT create_reference_table('gone');`), nil,
		`things is distributed by "id"`, "organizations is distributed twice", "organization_names should be reference", "things comes before organizations",
		"gone is no table")
}
