#!/usr/bin/env bash
# The main job, end to end, on a database of its own that is gone afterwards: this repository's model is imported, five
# facts about it are remembered, one is found, restated and contradicted, and the map says what is documented.
set -euo pipefail
cd "$(dirname "$0")/.."

stele=${STELE:-bin/stele}
# Nothing of the demo touches what you have: its data folder and master key are thrown away. The folder must be open to the
# user that runs PostgreSQL when you are root.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/stele-demo.XXXXXX")
chmod 755 "$scratch"
export STELE_DATA_DIR=$scratch/data STELE_MASTER_KEY_FILE=$scratch/master.key STELE_PROJECT=stele-demo
unset STELE_DATABASE_URL STELE_DATABASE_OWNER_URL STELE_MASTER_KEY

finish() {
  local status=$?
  "$stele" db stop >/dev/null 2>&1 || true
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# Prints a command as one would type it, then runs it.
run() {
  local word line='$ stele'
  for word in "$@"; do
    case $word in
      *[!a-zA-Z0-9_./=-]*) line="$line '$word'" ;;
      *) line="$line $word" ;;
    esac
  done
  printf '%s\n' "$line" | fold -s -w 80
  "$stele" "$@"
}
if [ ! -t 1 ]; then say() { printf '\n%s\n' "$*"; }; fi

say "1. Read this repository's own architecture model, and its decisions"
run model import docs/architecture/workspace.dsl

say "2. Remember five facts about it, each on the element it is about"
run remember --kind pitfall --element stele.program.store --title "Array operators lose their index" \
  --why "the operator is not leakproof, so the policy runs before it" \
  'Under row-level security `terms && $1` on an array is no index condition: 14 ms became 76 ms for 20,000 rows. Search the postings table by equality instead, as [[ADR-4]] decides.'
run remember --kind convention --element stele.database \
  'org_id comes first in every primary, unique and foreign key, and every table that has it forces row-level security.'
run remember --kind pitfall --element stele.program.cluster \
  'PostgreSQL refuses to run as root: the embedded cluster then runs as the user postgres and keeps its data below /var/lib/stele.'
run remember --kind note --path api/mcp/server.go \
  'mcp-go marks a new tool as destructive and open-world unless told otherwise, so set all four hints on every tool.'
run remember --kind convention --element stele.program.memory \
  'A recall result needs at least 0.4 of the best relevance of its query; below that it is left out. See [[Array operators lose their index]] for what makes it fast.'

say "3. Find one of them again, with its score taken apart"
run recall 'why is the array index not used' --explain --limit 2

say "4. Say the same again: it is confirmed, not stored twice"
run remember --kind convention --element stele.program.memory \
  'a recall result needs at least 0.4 of the best relevance of its query; below that it is left out. See [[Array operators lose their index]] for what makes it fast'

say "5. Say something else of the same shape: another number is another fact"
run remember --kind convention --element stele.program.memory \
  'A recall result needs at least 0.5 of the best relevance of its query; below that it is left out. See [[Array operators lose their index]] for what makes it fast.'

say "6. See how much of the architecture is documented"
run map
