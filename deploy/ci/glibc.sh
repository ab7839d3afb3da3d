#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is shipped starts where glibc and the C++ library are those of RHEL 9 or Ubuntu 22.04: no program and no
# shared library has a symbol of a version above GLIBC_2.34 and GLIBCXX_3.4.29.
#
# Usage: glibc.sh [FILE...]     archives (.deb, .rpm, .whl, .tar.gz), programs, shared libraries; by default the
#                               bundle and the full wheel, which it builds
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ $# -eq 0 ]; then
  bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle //client/python:full_wheel
  set -- bazel-bin/deploy/holdfast*.tar.gz bazel-bin/client/python/full.whl
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

unpack() {  # FILE FOLDER
  mkdir -p "$2"
  case "$1" in
    *.deb) dpkg-deb --extract "$1" "$2" ;;
    *.rpm) rpm2archive - <"$1" | tar -xz -C "$2" ;;
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
    *.tar.gz) tar -xzf "$1" -C "$2" ;;
    *) cp -L "$1" "$2" ;;
  esac
}

# FILE: "VERSION SYMBOL" for each symbol above the limits.
newer_symbols() {
  objdump -T "$1" 2>/dev/null | awk 'match($0, /GLIBC(XX)?_[0-9.]+/) {
    version = substr($0, RSTART, RLENGTH)
    split(version, part, /[_.]/)
    number = (part[2] * 1000 + part[3]) * 1000 + part[4]
    if (number > (part[1] == "GLIBC" ? 2034000 : 3004029)) print version, $NF
  }'
}

failures=0
for archive in "$@"; do
  folder=$directory/${archive##*/}
  unpack "$archive" "$folder"
  files=0
  while read -r file; do
    files=$((files + 1))
    newer=$(newer_symbols "$file" || true)
    [ -n "$newer" ] || continue
    echo "$archive: ${file#"$folder"/} needs"
    # shellcheck disable=SC2001
    sed 's/^/  /' <<<"$newer"
    failures=$((failures + 1))
  done < <(find "$folder" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} \; -print)
  echo "$archive: $files programs and libraries"
done
[ "$failures" -eq 0 ] || { echo "GLIBC_2.34 and GLIBCXX_3.4.29 are the limits"; exit 1; }
