#!/usr/bin/env bash
# Lets the outside judges of the Model Context Protocol look at the real server: the official conformance suite at both
# revisions over HTTP, and the Inspector over HTTP and standard input. Prints a table and ends with 1 when anything fails.
# docs/conformance.md tells which scenarios are run and why not others.
set -euo pipefail
cd "$(dirname "$0")/.."

stele=$(realpath "${STELE:-bin/stele}")

# The judges are pinned, so that a server that passed yesterday passes today. They come from npm into a cache outside the
# tree; npm itself needs any Node.js, the suite a newer one than many machines have, which npm brings as well.
node=node@22.23.3 suite=@modelcontextprotocol/conformance@0.2.0-alpha.12 inspector=@modelcontextprotocol/inspector@2.12.0
key=$(printf '%s' "$node $suite $inspector" | cksum | cut -d' ' -f1)
judges=${XDG_CACHE_HOME:-$HOME/.cache}/stele/conformance-$key
if [ ! -e "$judges/complete" ]; then
  command -v npm >/dev/null || {
    echo 'conformance: npm is missing; install Node.js with npm, any version' >&2
    exit 2
  }
  echo "installing the judges in $judges (once)"
  mkdir -p "$judges"
  npm install --prefix "$judges" --no-save --no-audit --no-fund --loglevel error "$node" "$suite" "$inspector"
  touch "$judges/complete"
fi
PATH=$judges/node_modules/.bin:$PATH

# A database, a key and a configuration of their own, thrown away afterwards. The folder must be open to the user that runs
# PostgreSQL when you are root.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/stele-conformance.XXXXXX")
chmod 755 "$scratch"
export STELE_DATA_DIR=$scratch/data STELE_MASTER_KEY_FILE=$scratch/master.key STELE_PROJECT=conformance
unset STELE_DATABASE_URL STELE_DATABASE_OWNER_URL STELE_MASTER_KEY STELE_SERVER STELE_TOKEN STELE_ADDR

running=''
finish() {
  local status=$? pid
  for pid in $running; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  "$stele" db stop >/dev/null 2>&1 || true
  rm -rf "$scratch"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

# address LOG PATTERN PID: waits until a process has said in LOG where it listens, and prints that.
address() {
  local found
  for _ in $(seq 600); do
    found=$(sed -nE "s#$2#\\1#p" "$1" | head -n 1)
    if [ -n "$found" ]; then
      printf '%s\n' "$found"
      return
    fi
    kill -0 "$3" 2>/dev/null || break
    sleep 0.1
  done
  cat "$1" >&2
  return 1
}

"$stele" project create "$STELE_PROJECT" >"$scratch/log" 2>&1 || {
  cat "$scratch/log" >&2
  exit 2
}
token=$("$stele" token create --name conformance --role agent --json | node -p 'JSON.parse(require("fs").readFileSync(0)).token')

"$stele" serve --addr 127.0.0.1:0 >"$scratch/server" 2>&1 &
running="$running $!"
server=$(address "$scratch/server" '.*serving (http://[0-9.:]+).*' $!)

# The suite can send no token, so a proxy adds it. It passes Host and Origin on, which the server judges.
go build -o "$scratch/proxy" ./internal/conformance
STELE_TOKEN=$token "$scratch/proxy" -server "$server" >"$scratch/proxy.log" 2>&1 &
running="$running $!"
proxy=$(address "$scratch/proxy.log" '^(http://[0-9.:]+)$' $!)

failed=0
# report JUDGE WHAT STATUS NOTE: a line of the table, and the judge's words below it when it was not content.
report() {
  local verdict=passed
  if [ "$3" -ne 0 ]; then
    verdict=FAILED failed=1
  fi
  printf '%-24s %-30s %-7s %s\n' "$1" "$2" "$verdict" "$4"
  if [ "$3" -ne 0 ]; then
    sed 's/^/    | /' "$scratch/out"
  fi
}

# scenario REVISION NAME
scenario() {
  local status=0
  node "$judges/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$proxy/mcp" \
    --scenario "$2" --spec-version "$1" -o "$scratch/results" >"$scratch/out" 2>&1 || status=$?
  report "suite $1" "$2" "$status" "$(sed -nE 's/^Passed: //p' "$scratch/out" | head -n 1)"
}

for name in server-initialize server-session-lifecycle ping tools-list resources-list prompts-list completion-complete \
  dns-rebinding-protection server-sse-multiple-streams; do
  scenario 2025-11-25 $name
done
for name in tools-list resources-list prompts-list completion-complete caching http-header-validation \
  dns-rebinding-protection server-sse-multiple-streams sep-2164-resource-not-found; do
  scenario 2026-07-28 $name
done

# listed FILE: how many entries a list has.
listed() {
  node -p 'const { result, ...rest } = JSON.parse(require("fs").readFileSync(process.argv[1]));
    "entries: " + Object.values(result ?? rest).find(Array.isArray).length' "$1" 2>/dev/null || true
}

# inspect LABEL METHOD ARGUMENTS...: what the Inspector says about a list. Only the list of tools has a strict reading; there
# any remark counts as a failure, be it a warning.
inspect() {
  local label=$1 method=$2 status=0 strict=''
  shift 2
  if [ "$method" = tools/list ]; then strict=--strict; fi
  HOME=$scratch mcp-inspector --cli "$@" --method "$method" ${strict:+"$strict"} --quiet --format json \
    >"$scratch/list" 2>"$scratch/out" || status=$?
  if [ -s "$scratch/out" ] && [ "$status" -eq 0 ]; then status=1; fi
  report "inspector $label" "$method $strict" "$status" "$(listed "$scratch/list")"
}

for era in legacy modern; do
  for method in tools/list resources/list prompts/list; do
    inspect "http $era" $method "$server/mcp/p/$STELE_PROJECT" --transport http --header "Authorization: Bearer $token" \
      --protocol-era $era
  done
done
for era in legacy modern; do
  for method in tools/list resources/list prompts/list; do
    inspect "stdio $era" $method --transport stdio --protocol-era $era -e "STELE_DATA_DIR=$STELE_DATA_DIR" \
      -e "STELE_MASTER_KEY_FILE=$STELE_MASTER_KEY_FILE" -e "STELE_PROJECT=$STELE_PROJECT" "$stele" mcp
  done
done
exit "$failed"
