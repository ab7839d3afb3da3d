#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libholdfast.so exports exactly the functions in symbols.txt as its C interface, and holdfast.h declares
# exactly these: a changed list is a changed ABI, so it must be meant. Besides them it exports the C++ library,
# under a version of its own.
set -euo pipefail
library=$1
header=$2
expected=$3

version=$(awk '$2 == "HF_VERSION" { gsub(/"/, "", $3); print $3 }' "$header")
node=HOLDFAST_CPP_${version%.*}
exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$3 ~ /@@HOLDFAST_0$/ && $2 == "T" { print $3 }' | sed 's/@.*//' | sort)
declared=$(grep -oE '\bhf_[a-z0-9_]+\(' "$header" | tr -d '(' | grep -v '_$' | sort -u)
# Those that are defined in the header.
inline=$(grep -A1 'static inline' "$header" | grep -oE '\bhf_[a-z0-9_]+\(' | tr -d '(' | sort -u)

status=0
diff <(grep -v '^#' "$expected") <(echo "$exported") || { echo "exported symbols differ from symbols.txt"; status=1; }
diff <(comm -23 <(echo "$declared") <(echo "$inline")) <(echo "$exported") ||
  { echo "declared and exported functions differ"; status=1; }
# The linker keeps instantiations that the C++ library has too (std::string) visible.
other=$(nm -D --defined-only --with-symbol-versions "$library" |
  awk -v node="$node" '$2 != "A" && $3 !~ /^_ZNSt/ && $3 !~ /@@HOLDFAST_0$/ && index($3, "@@" node) == 0' || true)
[ -z "$other" ] || { echo "exported besides functions and the C++ library: $other"; status=1; }
foreign=$(nm -D --defined-only --with-symbol-versions "$library" |
  awk -v node="$node" 'index($3, "@@" node) > 0 && $2 != "A" && $3 !~ /8holdfast/' || true)
[ -z "$foreign" ] || { echo "exported of other libraries: $foreign"; status=1; }
nm -D --defined-only --with-symbol-versions "$library" | grep "Session4Open.*@@$node" >/dev/null ||
  { echo "Session::Open is not exported as $node"; status=1; }
readelf -d "$library" | grep -q 'SONAME.*\[libholdfast.so.0\]' || { echo "wrong soname"; status=1; }
exit "$status"
