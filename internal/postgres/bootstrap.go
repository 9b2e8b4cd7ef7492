package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stele-dev/stele/internal/postgres/installation"
	"github.com/stele-dev/stele/internal/problem"
)

// Roles are what Bootstrap makes. A password left empty is not changed (and not set for a new role, which then can only
// log in by a method that needs none).
type Roles struct {
	Database      string // name of the database; default "stele"
	OwnerPassword string
	AppPassword   string
}

// RolesFor gives the roles that the two addresses of a server log in with: the service's (STELE_DATABASE_URL) and the
// owner's (STELE_DATABASE_OWNER_URL). Either may be empty; both must name one database. It lets an administrator prepare a
// server from its configuration.
func RolesFor(appURL, ownerURL string) (Roles, error) {
	var roles Roles
	for _, role := range []struct {
		address, setting, name string
		password               *string
	}{
		{appURL, "STELE_DATABASE_URL", AppRole, &roles.AppPassword},
		{ownerURL, "STELE_DATABASE_OWNER_URL", OwnerRole, &roles.OwnerPassword},
	} {
		if role.address == "" {
			continue
		}
		fix := "write it as postgres://" + role.name + ":PASSWORD@HOST:5432/" + cmp.Or(roles.Database, "stele")
		config, err := pgx.ParseConfig(role.address)
		if err != nil || config.Database == "" {
			return Roles{}, problem.New(problem.Invalid, role.setting, "the address of the database cannot be read", fix)
		}
		if roles.Database != "" && config.Database != roles.Database {
			return Roles{}, problem.New(problem.Invalid, role.setting, "it is not an address of the database that STELE_DATABASE_URL names", fix)
		}
		roles.Database, *role.password = config.Database, config.Password
	}
	return roles, nil
}

// bootstrapLock keeps two administrators from creating the roles at the same moment; the bytes of "roles".
const bootstrapLock int64 = 0x726f6c6573

// Bootstrap prepares a server: the roles stele_owner and stele_app, the database with pgvector, and who may do what in
// it. adminURL connects as a superuser (or as a role that may create roles, databases and the extension) to any
// database of the server. Everything it makes it makes only when it is missing, and what it sets it sets again, so it
// may be run any number of times.
func Bootstrap(ctx context.Context, adminURL string, roles Roles) error {
	if roles.Database == "" {
		roles.Database = "stele"
	}
	admin, err := connectAdmin(ctx, adminURL, "")
	if err != nil {
		return err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if err := checkServer(ctx, admin); err != nil {
		return err
	}
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock($1)", bootstrapLock); err != nil {
		return unreachable(err)
	}
	for _, role := range []struct{ name, password string }{{OwnerRole, roles.OwnerPassword}, {AppRole, roles.AppPassword}} {
		if err := ensureRole(ctx, admin, role.name, role.password); err != nil {
			return notAllowed("creating role "+role.name, err)
		}
	}
	if err := ensureDatabase(ctx, admin, roles.Database); err != nil {
		return notAllowed("creating database "+roles.Database, err)
	}
	inside, err := connectAdmin(ctx, adminURL, roles.Database)
	if err != nil {
		return err
	}
	defer inside.Close(context.WithoutCancel(ctx))
	for _, statement := range []string{
		"CREATE EXTENSION IF NOT EXISTS vector",
		"ALTER EXTENSION vector UPDATE", // an older one may have been there
		// A process that hangs in a transaction (a laptop that sleeps) must not keep its locks for ever.
		"ALTER ROLE " + AppRole + " SET idle_in_transaction_session_timeout = '5min'",
		// Only the owner creates, and only those named connect.
		"REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT USAGE, CREATE ON SCHEMA public TO " + OwnerRole,
		"GRANT USAGE ON SCHEMA public TO " + AppRole,
		// PostgreSQL lets everyone call every new function; here some run with the owner's rights, so each is granted by name.
		"ALTER DEFAULT PRIVILEGES FOR ROLE " + OwnerRole + " REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC",
	} {
		if _, err := inside.Exec(ctx, statement); err != nil {
			return notAllowed("preparing database "+roles.Database, err)
		}
	}
	return nil
}

// checkServer refuses a server that is too old or has no pgvector.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var number int
	var shown, vector string
	err := conn.QueryRow(ctx, `
		SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		       coalesce((SELECT default_version FROM pg_catalog.pg_available_extensions WHERE name = 'vector'), '')`).Scan(&number, &shown, &vector)
	switch {
	case err != nil:
		return unreachable(err)
	case number < installation.MinMajor*10000:
		return problem.New(problem.Unavailable, "", fmt.Sprintf("the server is PostgreSQL %s, Stele needs %d or later", shown, installation.MinMajor),
			"upgrade the server")
	case vector == "":
		return problem.New(problem.Unavailable, "", "the server has no pgvector, Stele needs "+installation.MinVectorVersion+" or later",
			"install pgvector on the server's machine (stele setup there does it)")
	case !installation.VersionAtLeast(vector, installation.MinVectorVersion):
		return problem.New(problem.Unavailable, "", fmt.Sprintf("the server has pgvector %s, Stele needs %s or later", vector, installation.MinVectorVersion),
			"upgrade pgvector on the server's machine")
	}
	return nil
}

// ensureRole makes a role that can log in and nothing more.
func ensureRole(ctx context.Context, conn *pgx.Conn, name, password string) error {
	var exists, plain bool
	err := conn.QueryRow(ctx, `
		SELECT count(*) > 0, coalesce(bool_and(rolcanlogin AND NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)), false)
		FROM pg_catalog.pg_roles WHERE rolname = $1`, name).Scan(&exists, &plain)
	if err != nil {
		return err
	}
	if !exists {
		if _, err := conn.Exec(ctx, "CREATE ROLE "+name+" LOGIN"); err != nil && SQLState(err) != "42710" {
			return err
		}
	} else if !plain {
		const nothingMore = " LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION"
		if _, err := conn.Exec(ctx, "ALTER ROLE "+name+nothingMore); err != nil {
			return err
		}
	}
	if password == "" {
		return nil
	}
	// The server keeps a verifier. It makes it from the password here, so the statement must not reach its log.
	_, err = conn.Exec(ctx, "SET log_statement = 'none'; SET log_min_error_statement = 'panic'; SET log_min_duration_statement = -1; ALTER ROLE "+
		name+" PASSWORD "+quoteLiteral(password)+"; RESET log_statement; RESET log_min_error_statement; RESET log_min_duration_statement")
	if SQLState(err) == "42501" { // not a superuser: these settings are not its own
		_, err = conn.Exec(ctx, "ALTER ROLE "+name+" PASSWORD "+quoteLiteral(password))
	}
	return err
}

func ensureDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var exists, super bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = $1),
		       (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)`, name).Scan(&exists, &super)
	if err != nil {
		return err
	}
	quoted := pgx.Identifier{name}.Sanitize()
	if !exists {
		if !super { // such a role may give a database only to a role it is a member of
			if _, err := conn.Exec(ctx, "GRANT "+OwnerRole+" TO CURRENT_USER"); err != nil {
				return err
			}
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+quoted+" OWNER "+OwnerRole+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil && SQLState(err) != "42P04" {
			return err
		}
	}
	_, err = conn.Exec(ctx, "REVOKE ALL ON DATABASE "+quoted+" FROM PUBLIC; GRANT CONNECT, TEMPORARY, CREATE ON DATABASE "+quoted+" TO "+OwnerRole+
		"; GRANT CONNECT ON DATABASE "+quoted+" TO "+AppRole)
	return err
}

// connectAdmin connects with an administrator's address, to another database when one is named.
func connectAdmin(ctx context.Context, adminURL, database string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(adminURL)
	if err != nil {
		return nil, problem.New(problem.Invalid, "", "the administrator's address of the database cannot be read",
			"write it as postgres://postgres:PASSWORD@HOST:5432/postgres")
	}
	if database != "" {
		config.Database = database
	}
	config.RuntimeParams["application_name"] = "stele admin"
	missClient(&config.Config)
	for deadline := time.Now().Add(restartPatience); ; {
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			return conn, nil
		}
		// A server that was just started, or that recovers from a crash, is waited for.
		if SQLState(err) != "57P03" || time.Now().After(deadline) {
			return nil, unreachable(err)
		}
		if err := pause(ctx, startingPause); err != nil {
			return nil, err
		}
	}
}

func notAllowed(what string, err error) error {
	if SQLState(err) == "42501" {
		return problem.New(problem.Forbidden, "", what+": "+reason(err), "use the address of a superuser").Because(err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// quoteLiteral writes a string as a SQL literal, for the statements that take no parameters.
func quoteLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}
