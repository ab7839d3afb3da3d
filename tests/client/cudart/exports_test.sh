#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exports_test.sh LIBCUDART FUNCTIONS: the library exports the functions of the list at the version that programs need,
# nothing else, and needs libc alone.
set -uo pipefail
libcudart=$1 functions=$2
failures=0

# Long names stand on a line of their own.
expected=$(grep -v '^//' "$functions" | grep -oE '\b(__)?cuda[A-Za-z0-9_]+' | sed 's/$/@@libcudart.so.13/' | sort)
# The version itself is a symbol, too.
exported=$(nm -D --defined-only "$libcudart" | awk '$2 != "A" { print $3 }' | sort)
diff <(echo "$expected") <(echo "$exported") || failures=$((failures + 1))

readelf -d "$libcudart" | grep -q 'SONAME.*\[libcudart.so.13\]' || {
  echo "$libcudart has another SONAME"
  failures=$((failures + 1))
}
needed=$(readelf -d "$libcudart" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' |
  grep -vE '^(libc|libdl|libm|libpthread|ld-linux-.*)\.so\.[0-9]+$')
[ -z "$needed" ] || {
  echo "$libcudart needs $needed"
  failures=$((failures + 1))
}
exit "$failures"
