#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is shipped starts where glibc and the C++ library are those of Debian 11: no program and no shared library,
# carried ones among them, has a symbol of a version above GLIBC_2.31, GLIBCXX_3.4.28 and CXXABI_1.3.12. RPM packages
# need more of the system than that: the libraries that they carry may have the versions of RHEL 9.
# Carried libraries need some symbols without a version: debian11.sh checks that these are found.
#
# Usage: glibc.sh [FILE...]     archives (.deb, .rpm, .whl, .tar.gz), programs, shared libraries; by default the
#                               bundle and the full wheel, which it builds
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
only_files "$@"
# shellcheck source=deploy/ci/unpack.sh
. deploy/ci/unpack.sh

if [ $# -eq 0 ]; then
  bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle //client/python:full_wheel
  set -- bazel-bin/deploy/holdfast*.tar.gz bazel-bin/client/python/full.whl
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

debian_11="GLIBC_2.31 GLIBCXX_3.4.28 CXXABI_1.3.12"
rhel_9="GLIBC_2.34 GLIBCXX_3.4.29 CXXABI_1.3.13"

# The limits of a file, by its path in an archive.
limits_of() {
  case "$1" in
    */*.rpm/usr/lib/holdfast/lib*.so.*) echo "$rhel_9" ;;
    *) echo "$debian_11" ;;
  esac
}

# FILE LIMITS: "VERSION SYMBOL" for each symbol above the limits.
newer_symbols() {
  objdump -T "$1" 2>/dev/null | awk -v limits="$2" '
    function number_of(version, part) {
      split(version, part, /[_.]/)
      return (part[2] * 1000 + part[3]) * 1000 + part[4]
    }
    BEGIN {
      count = split(limits, list, " ")
      for (i = 1; i <= count; ++i) { name = list[i]; sub(/_.*/, "", name); limit[name] = number_of(list[i]) }
    }
    match($0, /(GLIBC|GLIBCXX|CXXABI)_[0-9.]+/) {
      version = name = substr($0, RSTART, RLENGTH)
      sub(/_.*/, "", name)
      if (number_of(version) > limit[name]) print version, $NF
    }'
}

failures=0
for archive in "$@"; do
  folder=$directory/${archive##*/}
  unpack "$archive" "$folder"
  files=0
  while read -r file; do
    files=$((files + 1))
    limits=$(limits_of "$file")
    newer=$(newer_symbols "$file" "$limits" || true)
    [ -n "$newer" ] || continue
    echo "$archive: ${file#"$folder"/}, for which $limits are the limits, needs"
    # shellcheck disable=SC2001
    sed 's/^/  /' <<<"$newer"
    failures=$((failures + 1))
  done < <(programs_and_libraries "$folder")
  echo "$archive: $files programs and libraries"
done
[ "$failures" -eq 0 ]
