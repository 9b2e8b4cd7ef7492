#!/usr/bin/env bash
# Prepares a PostgreSQL server for Stele: the roles stele_owner and stele_app, the database, pgvector. It may be run any
# number of times. The connection is that of psql (PGHOST, PGUSER, ...), as a superuser.
#
#   POSTGRES_PASSWORD_FILE  password of that superuser; default /run/secrets/postgres_password, ignored when PGPASSWORD is set
#   STELE_PGPASS            password file with a line for each of the two roles; default /run/secrets/pgpass
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pgpass=${STELE_PGPASS:-/run/secrets/pgpass}

password_of() { awk -F: -v role="$1" '$4 == role { print $5; exit }' "$pgpass"; }

# By environment, never by argument: every user of a machine can read the arguments of a process.
STELE_OWNER_PASSWORD=$(password_of stele_owner)
STELE_APP_PASSWORD=$(password_of stele_app)
if [ -z "$STELE_OWNER_PASSWORD" ] || [ -z "$STELE_APP_PASSWORD" ]; then
  echo "bootstrap: $pgpass has no password for stele_owner or stele_app; make it with docker/make-secrets.sh" >&2
  exit 2
fi
if [ -z "${PGPASSWORD:-}" ]; then
  PGPASSWORD=$(cat "${POSTGRES_PASSWORD_FILE:-/run/secrets/postgres_password}")
fi
export PGPASSWORD STELE_OWNER_PASSWORD STELE_APP_PASSWORD

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file="$here/bootstrap.sql"
echo "bootstrap: the roles stele_owner and stele_app and the database stele are ready"
