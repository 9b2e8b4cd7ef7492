#!/usr/bin/env bash
# Put the program of the action into a folder: the released one that action/release names, verified by its checksum, else one built
# from the source beside this script. A checkout of Stele itself (uses: ./action) is always built.
set -euo pipefail

bin=${1:?usage: install.sh FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=$here/release
mkdir -p "$bin"

fail() {
  printf '::error title=Stele::%s\n' "$*"
  exit 2
}

build() {
  command -v go >/dev/null || fail "there is no released program for this version or machine, and no Go to build one. Add actions/setup-go before this step."
  printf 'stele: building from source\n'
  (cd "$here/.." && CGO_ENABLED=0 go build -trimpath -o "$bin/stele" ./cmd/stele)
}

# An action that lies in the checkout is the source somebody works on.
if [[ $here == "${GITHUB_WORKSPACE:-/dev/null}"/* || ! -f $pins ]]; then
  build
  exit 0
fi

case ${RUNNER_OS:-} in
  Linux) os=linux ;;
  macOS) os=darwin ;;
  *) fail "the action runs on Linux and macOS, not on ${RUNNER_OS:-this machine}" ;;
esac
case ${RUNNER_ARCH:-} in
  X64) arch=amd64 ;;
  ARM64) arch=arm64 ;;
  *) arch=none ;;
esac

# Lines of that file: "version 1.2.3", and "SHA256  stele_OS_ARCH" for each program.
version=$(awk '$1 == "version" { print $2 }' "$pins")
sum=$(awk -v name="stele_${os}_$arch" '$2 == name { print $1 }' "$pins")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "action/release names no version"
if [[ -z $sum ]]; then
  build
  exit 0
fi

download=$(mktemp "$bin/download.XXXXXX")
trap 'rm -f "$download"' EXIT
curl --fail --silent --show-error --location --proto '=https' --proto-redir '=https' --retry 3 --max-time 300 --output "$download" \
  "https://github.com/stele-dev/stele/releases/download/v$version/stele_${os}_$arch" || fail "stele $version could not be downloaded"
if command -v sha256sum >/dev/null; then
  actual=$(sha256sum "$download")
else
  actual=$(shasum -a 256 "$download")
fi
[[ ${actual%% *} == "$sum" ]] || fail "the downloaded program is not stele $version: its checksum is ${actual%% *}, and $sum was expected"
chmod 755 "$download"
mv "$download" "$bin/stele"
printf 'stele: %s, checksum verified\n' "$version"
