#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is shipped has the licence of each library that it contains. An archive contains a library if the pattern of the
# library, in `known` below, is in a program or a library of the archive; the archive then has to have the licence. Each
# library of the bill of materials has its licence in one of the archives at least, and a pattern.
#
# Usage: licenses.sh FILE...     archives: .deb, .rpm, .whl, .tar.gz
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
only_files "$@"
[ $# -gt 0 ] || refuse "it needs a file"
# shellcheck source=deploy/ci/unpack.sh
. deploy/ci/unpack.sh

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# A source package of the distribution, and a pattern that is in each program that the package's library is linked into.
known='abseil 4absl
boost1.74 5beast
c-ares c-ares
cli11 3CLI
gcc-12 GLIBC_
googletest 7testing
grpc grpc_
libzstd ZSTD_
llvm-toolchain-19 LLVM
nlohmann-json3 8nlohmann
openssl X509_
prometheus-cpp 10prometheus
protobuf google.protobuf
re2 3re2
tomlplusplus 4toml
zlib inflate.1[.]'

texts_in() {  # FOLDER: names of sources
  find "$1" -type f \( -path '*/third-party/*' -o -path '*/licenses/*' \) -printf '%f\n' | sed 's/\.gz$//' | sort -u
}

sources=$(deploy/sbom.py 0 | sed -n 's/.*"value": "\([^ ]*\) .*/\1/p' | sort -u)
[ -n "$sources" ] || { echo "the bill of materials names no library"; exit 1; }

failures=0
for archive in "$@"; do
  folder=$directory/${archive##*/}
  unpack "$archive" "$folder"
  texts_in "$folder" >"$directory/texts"
  cat "$directory/texts" >>"$directory/all"
  while read -r file; do
    while read -r source pattern; do
      ! grep -qaE "$pattern" "$file" || grep -qx "$source" "$directory/texts" ||
        { echo "$archive: ${file#"$folder"/} contains $source, whose licence is missing"; failures=$((failures + 1)); }
    done <<<"$known"
  done < <(programs_and_libraries "$folder")
done
while read -r source; do
  grep -qx "$source" "$directory/all" || { echo "no archive has the licence of $source"; failures=$((failures + 1)); }
  grep -q "^$source " <<<"$known" || { echo "deploy/ci/licenses.sh does not know $source"; failures=$((failures + 1)); }
done <<<"$sources"
[ "$failures" -eq 0 ]
