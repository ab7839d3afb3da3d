#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is shipped has the licence of each library that it contains: every archive has the texts of those by whose names
# its programs and libraries know themselves, and of the C++ compiler's; a text of each library of the bill of materials
# is in one of the archives.
#
# Usage: licenses.sh FILE...     archives: .deb, .rpm, .whl, .tar.gz
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/unpack.sh
. deploy/ci/unpack.sh

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# A source of the distribution, and a pattern of what is in a program that its library is linked into.
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
done < <(deploy/sbom.py 0 | sed -n 's/.*"value": "\([^ ]*\) .*/\1/p' | sort -u)
[ "$failures" -eq 0 ]
