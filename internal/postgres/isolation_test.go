package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres"
	"github.com/stele-dev/stele/internal/postgres/pgtest"
)

func TestSchemaKeepsOrganizationsApart(t *testing.T) {
	t.Parallel()
	if err := postgres.VerifyIsolation(t.Context(), pgtest.NewDatabase(t).ConnectAdmin(t)); err != nil {
		t.Errorf("the migrated schema:\n%v", err)
	}
}

// TestVerifyIsolationFinds: each way to get a table wrong is found, and nothing else is reported with it.
func TestVerifyIsolationFinds(t *testing.T) { //nolint:tparallel // one connection, a transaction for each
	t.Parallel()
	const (
		table  = "CREATE TABLE leaky (org_id uuid NOT NULL, n int, PRIMARY KEY (org_id, n));"
		enable = "ALTER TABLE leaky ENABLE ROW LEVEL SECURITY;"
		force  = "ALTER TABLE leaky FORCE ROW LEVEL SECURITY;"
		policy = "CREATE POLICY tenant ON leaky USING (org_id = nullif(current_setting('app.org_id', true), '')::uuid);"
	)
	d := pgtest.NewDatabase(t)
	owner := d.ConnectOwner(t)
	for name, test := range map[string]struct{ ddl, want string }{ //nolint:paralleltest // in order
		"as it must be":       {table + enable + force + policy + "GRANT SELECT ON leaky TO stele_app", ""},
		"not enabled":         {table + "GRANT SELECT ON leaky TO stele_app", "no forced row-level security"},
		"not forced":          {table + enable + policy + "GRANT SELECT ON leaky TO stele_app", "no forced row-level security"},
		"only insertable":     {table + "GRANT INSERT ON leaky TO stele_app", "no forced row-level security"},
		"no policy":           {table + enable + force, "exactly the one tenant policy"},
		"second policy":       {table + enable + force + policy + "CREATE POLICY all_rows ON leaky USING (true)", "exactly the one tenant policy"},
		"other policy":        {table + enable + force + "CREATE POLICY tenant ON leaky USING (true)", "exactly the one tenant policy"},
		"wider check":         {table + enable + force + strings.TrimSuffix(policy, ";") + " WITH CHECK (true)", "exactly the one tenant policy"},
		"key of another":      {"CREATE TABLE leaky (org_id uuid NOT NULL, n int PRIMARY KEY);" + enable + force + policy, "does not begin with org_id"},
		"nullable":            {"CREATE TABLE leaky (org_id uuid, n int);" + enable + force + policy, "may be null"},
		"open lookup":         {"CREATE TABLE leaky (n int); GRANT SELECT ON leaky TO stele_app", "open to stele_app"},
		"open column":         {"CREATE TABLE leaky (n int); GRANT SELECT (n) ON leaky TO stele_app", "open to stele_app"},
		"closed lookup":       {"CREATE TABLE leaky (n int)", ""},
		"open view":           {table + enable + force + policy + "CREATE VIEW v AS SELECT org_id FROM leaky; GRANT SELECT ON v TO stele_app", "open to stele_app"},
		"for everyone":        {table + enable + force + policy + "GRANT SELECT ON leaky TO PUBLIC", "open to everyone"},
		"function for all":    {"CREATE FUNCTION f() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS 'SELECT 1'; GRANT EXECUTE ON FUNCTION f() TO PUBLIC", "runs with its owner's rights"},
		"function without it": {"CREATE FUNCTION f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'", "runs with its owner's rights"},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := owner.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.WithoutCancel(t.Context()))
			if _, err := tx.Exec(t.Context(), test.ddl); err != nil {
				t.Fatal(err)
			}
			switch err := postgres.VerifyIsolation(t.Context(), tx.Conn()); {
			case test.want == "" && err != nil:
				t.Errorf("found %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("found %v, want one thing that %s", err, test.want)
			}
		})
	}
}

// TestEveryTableIsolates walks the catalogue: rows of two organizations go into every table that has org_id, and then
// stele_app sees none without an organization, its own with one, and never writes another's.
func TestEveryTableIsolates(t *testing.T) {
	t.Parallel()
	d := pgtest.NewDatabase(t)
	mine, theirs := uuid.New(), uuid.New()
	tables := fillEveryTable(t, d, mine, theirs)
	if len(tables) < 10 {
		t.Fatalf("only tables %v have org_id", tables)
	}
	for _, table := range tables {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			count := func(tx pgx.Tx) (n int, other int, err error) {
				err = tx.QueryRow(t.Context(), fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE org_id <> $1) FROM %s", table), mine).Scan(&n, &other)
				return n, other, err
			}
			readable := mayRead(t, d, table)
			err := d.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
				n, _, err := count(tx)
				if err == nil && n != 0 {
					t.Errorf("%d rows are visible without an organization", n)
				}
				return err
			})
			if !readable {
				if !postgres.IsForbidden(err) {
					t.Errorf("a table that is not granted gave %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			err = d.InOrg(t.Context(), mine, postgres.TxOptions{}, func(tx pgx.Tx) error {
				n, other, err := count(tx)
				if err == nil && (n != 1 || other != 0) {
					t.Errorf("%d rows are visible, %d of them another's; want the one of this organization", n, other)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for verb, statement := range map[string]string{
				"update": "UPDATE %s SET org_id = org_id WHERE org_id = $1",
				"delete": "DELETE FROM %s WHERE org_id = $1",
				"insert": "INSERT INTO %[1]s SELECT (jsonb_populate_record(r, jsonb_build_object('org_id', $1::text))).* FROM %[1]s r",
			} {
				err := d.InOrg(t.Context(), mine, postgres.TxOptions{}, func(tx pgx.Tx) error {
					tag, err := tx.Exec(t.Context(), fmt.Sprintf(statement, table), theirs)
					if err == nil && tag.RowsAffected() != 0 {
						t.Errorf("%s touched %d rows of another organization", verb, tag.RowsAffected())
					}
					return err
				})
				// Either the row is not there for this role, or the policy or a missing privilege refuses.
				if err != nil && !postgres.IsForbidden(err) {
					t.Errorf("%s gave %v", verb, err)
				}
				if verb == "insert" && err == nil {
					t.Error("a row of another organization was inserted")
				}
			}
		})
	}
}

func mayRead(t *testing.T, d pgtest.Database, table string) (yes bool) {
	t.Helper()
	err := d.WithoutOrg(t.Context(), postgres.TxOptions{}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT has_table_privilege($1, 'SELECT')", table).Scan(&yes)
	})
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

// fillEveryTable puts one row of each organization into every table that has org_id and returns the tables. Values are
// made up by type; what relates rows to each other is switched off, because who may see a row does not depend on it.
func fillEveryTable(t *testing.T, d pgtest.Database, organizations ...uuid.UUID) []string {
	t.Helper()
	admin := d.ConnectAdmin(t)
	if _, err := admin.Exec(t.Context(), `
		SET session_replication_role = replica;
		DO $$
		DECLARE c record;
		BEGIN
			FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint
			         WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND coninhcount = 0 LOOP
				EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname);
			END LOOP;
		END $$`); err != nil {
		t.Fatal(err)
	}
	rows, err := admin.Query(t.Context(), `
		SELECT c.oid::regclass::text, array_agg(a.attname::text ORDER BY a.attnum), array_agg(format_type(a.atttypid, NULL) ORDER BY a.attnum)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attgenerated = ''
		  AND a.attidentity <> 'a'
		  AND EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid AND o.attname = 'org_id')
		GROUP BY c.oid ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	type tableColumns struct {
		Name  string
		Names []string
		Types []string
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[tableColumns])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, table := range tables {
		names = append(names, table.Name)
		for n, org := range organizations {
			var values []string
			for c, column := range table.Names {
				if column == "org_id" {
					values = append(values, "'"+org.String()+"'")
				} else {
					values = append(values, someValue(t, table.Types[c], n))
				}
			}
			statement := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table.Name, strings.Join(table.Names, ", "), strings.Join(values, ", "))
			if _, err := admin.Exec(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	return names
}

func someValue(t *testing.T, typ string, n int) string {
	t.Helper()
	if strings.HasSuffix(typ, "[]") {
		return "'{}'"
	}
	switch typ {
	case "uuid":
		return "gen_random_uuid()"
	case "text", "character varying":
		return fmt.Sprintf("'text %d'", n)
	case "bytea":
		return fmt.Sprintf(`'\x%02x'`, n)
	case "integer", "bigint", "smallint", "real", "double precision", "numeric":
		return fmt.Sprint(n)
	case "boolean":
		return "false"
	case "timestamp with time zone":
		return "'2020-01-01T00:00:00Z'"
	case "date":
		return "'2020-01-01'"
	case "interval":
		return "'1 hour'"
	case "jsonb", "json":
		return "'{}'"
	case "halfvec", "vector":
		return "'[1,2]'"
	}
	t.Fatalf("no value for type %s: add one here", typ)
	return ""
}
