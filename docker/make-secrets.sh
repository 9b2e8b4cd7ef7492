#!/usr/bin/env bash
# Makes what docker-compose.yml reads and no repository should hold: random passwords in docker/secrets and, in .env, the
# user id under which containers may read them. What exists is left as it is, so running it again changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 077
mkdir -p docker/secrets/keys

random() { head -c 24 /dev/urandom | od -An -vtx1 | tr -d ' \n'; }

passwords() { printf '*:*:stele:stele_owner:%s\n*:*:stele:stele_app:%s\n' "$(random)" "$(random)"; }
# The servers' own: they must not be able to change the schema.
app_password() { grep ':stele_app:' docker/secrets/pgpass; }
user_id() { printf 'STELE_UID=%s\nSTELE_GID=%s\n' "$(id -u)" "$(id -g)"; }

# make FILE COMMAND: writes what COMMAND prints to FILE unless it exists, and never half of it.
make_file() {
  if [ -e "$1" ]; then
    echo "kept  $1"
  else
    "$2" > "$1.new"
    mv "$1.new" "$1"
    echo "made  $1"
  fi
}

make_file docker/secrets/postgres_password random
make_file docker/secrets/pgpass passwords
make_file docker/secrets/pgpass_app app_password
make_file .env user_id
