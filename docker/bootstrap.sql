-- The two roles of Stele and its database, for psql 14 or later as a superuser; see bootstrap.sh, which passes the
-- passwords. The same steps as Bootstrap in internal/postgres, for servers that are set up without Stele at hand.
\getenv owner_password STELE_OWNER_PASSWORD
\getenv app_password STELE_APP_PASSWORD

-- The server makes its verifier from the password it is sent here, so these statements must not reach its log.
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
SET log_min_duration_statement = -1;

SELECT format('CREATE ROLE %I', name) FROM unnest(ARRAY['stele_owner', 'stele_app']) AS name
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Neither may be more than a plain role: row-level security does not bind a superuser or one with BYPASSRLS.
ALTER ROLE stele_owner LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'owner_password';
ALTER ROLE stele_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'app_password';

SELECT 'CREATE DATABASE stele OWNER stele_owner TEMPLATE template0 ENCODING ''UTF8'''
    WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'stele') \gexec

REVOKE ALL ON DATABASE stele FROM PUBLIC;
GRANT CONNECT, TEMPORARY, CREATE ON DATABASE stele TO stele_owner;
GRANT CONNECT ON DATABASE stele TO stele_app;

\connect stele
CREATE EXTENSION IF NOT EXISTS vector;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO stele_owner;
GRANT USAGE ON SCHEMA public TO stele_app;
-- Some functions run with the owner's rights, so the right to call one is granted by name.
ALTER DEFAULT PRIVILEGES FOR ROLE stele_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
