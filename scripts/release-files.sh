#!/usr/bin/env bash
# Writes what a release holds beside the binaries into release/: completion scripts, and server.json with the version of the release.
#
#   scripts/release-files.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?which version}
rm -rf release
mkdir -p release/completions
for shell in bash zsh fish; do
	go run ./cmd/stele completion "$shell" >"release/completions/stele.$shell"
done
sed "s/0\.0\.0/$version/g" server.json >release/server.json
