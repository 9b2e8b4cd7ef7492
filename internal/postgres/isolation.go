package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// tenantPolicy is what the one policy of every tenant's table compares, as PostgreSQL prints it.
const tenantPolicy = `(org_id = (NULLIF(current_setting('app.org_id'::text, true), ''::text))::uuid)`

// VerifyIsolation reads the catalogue and reports every way in which the schema would let one organization see another:
// a table open to stele_app whose row-level security is not forced (lookup tables are closed to it and asked through
// functions), a policy that compares anything else, a key that does not begin with org_id, a table or function open to
// everyone. conn may be of any role. The error joins one error for each finding.
func VerifyIsolation(ctx context.Context, conn *pgx.Conn) error {
	var findings []error
	for _, check := range []struct {
		finding string // what is wrong with each row's object
		query   string // rows of one text column
	}{
		{"does not have exactly the one tenant policy", `
			SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'
			LEFT JOIN pg_policy p ON p.polrelid = c.oid
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relrowsecurity
			GROUP BY c.oid
			HAVING count(p.oid) <> 1 OR NOT bool_and(p.polcmd = '*' AND p.polroles = '{0}' AND p.polpermissive
			   AND pg_get_expr(p.polqual, p.polrelid) = '` + strings.ReplaceAll(tenantPolicy, "'", "''") + `'
			   AND (p.polwithcheck IS NULL OR pg_get_expr(p.polwithcheck, p.polrelid) = pg_get_expr(p.polqual, p.polrelid)))`},
		{"does not begin with org_id", `
			SELECT format('%s of %s', i.indexrelid::regclass, i.indrelid::regclass)
			FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'
			WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity AND i.indisunique AND i.indkey[0] <> a.attnum
			UNION ALL
			SELECT format('%s of %s', k.conname, k.conrelid::regclass)
			FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'
			WHERE c.relnamespace = 'public'::regnamespace AND k.contype = 'f' AND k.conkey[1] <> a.attnum`},
		{"has an org_id that may be null", `
			SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'
			WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity AND NOT a.attnotnull`},
		{"has no forced row-level security and is open to " + AppRole, `
			SELECT c.oid::regclass::text FROM pg_class c
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
			  AND NOT (c.relrowsecurity AND c.relforcerowsecurity) AND c.relname <> 'goose_db_version'
			  AND (has_any_column_privilege('` + AppRole + `', c.oid, 'SELECT, INSERT, UPDATE')
			       OR has_table_privilege('` + AppRole + `', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE'))`},
		{"is open to everyone", `
			SELECT c.oid::regclass::text FROM pg_class c, aclexplode(c.relacl) g
			WHERE c.relnamespace = 'public'::regnamespace AND g.grantee = 0`},
		{"runs with its owner's rights and is open to everyone, or has no fixed search_path", `
			SELECT p.oid::regprocedure::text FROM pg_proc p
			WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef
			  AND (p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) g WHERE g.grantee = 0)
			       OR NOT coalesce(array_to_string(p.proconfig, ',') LIKE '%search_path=%', false))`},
		{"belongs to " + AppRole, `
			SELECT c.oid::regclass::text FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = '` + AppRole + `'`},
	} {
		rows, err := conn.Query(ctx, check.query)
		if err != nil {
			return fmt.Errorf("asking for what %s: %w", check.finding, err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("asking for what %s: %w", check.finding, err)
		}
		for _, name := range names {
			findings = append(findings, fmt.Errorf("%s %s", name, check.finding))
		}
	}
	return errors.Join(findings...)
}
