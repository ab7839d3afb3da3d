#!/usr/bin/env bash
# clang-tidy over the C++ sources, with the checks of .clang-tidy and Clang's analysis of locks; warnings are
# errors; and shellcheck over every shell script. With arguments: those C++ files only.
#
# Nearly all of clang-tidy's time goes to the headers that a file includes. So twenty files that lie near each
# other are put into one, and headers read once for all. Two of them may define the same name, each for itself: one
# that does not compile with the others is read later, with its like.
set -euo pipefail
cd "$(dirname "$0")/../.."
if git grep -n "absl::Now() - " -- server core client/cpp; then
  echo "A duration by the wall clock is wrong once that clock is set: take SteadyNow() of core/base/steady_time.h" >&2
  exit 1
fi
bazel build --noshow_progress //proto/... //tests/bench/software:kernels_text

flags="-std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto -isystem ${CUDA_HOME:-/usr/local/cuda}/include"
flags="$flags -iquote tests/acceptance/checks -isystem client/c"
flags="$flags -isystem /usr/include/llvm-19 -isystem /usr/include/llvm-c-19"
python_headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
flags="$flags -isystem $python_headers -DPy_LIMITED_API=0x030A0000 -Wthread-safety"
# The order of locks that ABSL_ACQUIRED_BEFORE writes down is checked in beta alone.
flags="$flags -Wthread-safety-beta -Wfatal-errors"
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=5000"
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes},tests}/'*.cc')
fi
# Tests go without Clang's analyzer, which would take longer than all else, and without advice for speed. They
# look at what was moved from, since that is what some are about.
for_tests="--checks=-clang-analyzer-*,-performance-*,-bugprone-use-after-move"

# Prints lines of at most twenty files, of a folder and those in it: `core/base`, `tests/server`.
groups() {
  printf '%s\n' "${files[@]}" | awk -F / '
    NR > 1 { printf "%s", $1 "/" $2 != last || ++count == 20 ? "\n" : " " }
    $1 "/" $2 != last || count == 20 { count = 0 }
    { printf "%s", $0; last = $1 "/" $2 }
    END { print "" }'
}

# Prints the files as one: their headers first, so that none sees a file's own names. Each file may have an unnamed
# namespace and a main(), which get names; and GoogleTest is not looked for in holdfast::testing, which some have
# and others do not.
as_one() {
  local included='^#include (".*/.*\.h"|<.*>)' of_googletest
  of_googletest='(Test|With|Value|UnitTest|TempDir|ElementsAre|IsEmpty|HasSubstr|Range|PrintTo|InitGoogle|internal)'
  [ $# -eq 1 ] || grep -hE "$included" "$@" | sort -u
  awk -v files=$# -v included="$included" -v of_googletest="testing::$of_googletest" '
    FNR == 1 { print "// file: " FILENAME; own = "file_" ++count }
    files > 1 && $0 ~ included { $0 = "" }
    files > 1 && /^namespace \{$/ { $0 = "namespace " own " {" }
    files > 1 && /^}  \/\/ namespace$/ { $0 = "}  using namespace " own ";" }
    files > 1 && /^int main\(/ { sub(/main/, "main_of_" own) }
    files > 1 && $0 ~ of_googletest { gsub(of_googletest, "::&"); gsub(/::::/, "::") }
    { print }' "$@"
}

# Prints clang-tidy's findings, with lines of the group `$1` named as those of the file that they come from.
by_file() {
  awk -v group="$1" -F : '
    FNR == NR { if (/^\/\/ file: /) { start = FNR; name = substr($0, 10) } at[FNR] = name ":" FNR - start; next }
    $1 == group { sub(/^[^:]*:[0-9]+/, at[$2]) }
    { print }' "$1" -
}

# clang-tidy over the files as one. Prints what it finds; also a crash, or a file that is not there, is a failure.
lint() {
  local files=("$@") later=() kept=() checks="" group output alone half failed=0
  if [[ $1 == tests/* ]]; then checks=$for_tests; fi
  while true; do
    group=$(mktemp --suffix=.cc -p "$work")
    as_one "${files[@]}" >"$group" || return
    # shellcheck disable=SC2086
    if output=$(clang-tidy --quiet --config-file=.clang-tidy $checks "$group" -- $flags 2>&1); then break; fi
    output=$({ grep -E '(warning|error):' <<<"$output" || echo "$output"; } | by_file "$group")
    if [ ${#files[@]} -eq 1 ] || ! grep -q clang-diagnostic-error <<<"$output"; then
      echo "$output"
      failed=1
      break
    fi
    # One that does not go with the others is read later; if no one is named, half of them.
    alone=$(sed -nE 's/^([^:]+):.*clang-diagnostic-error.*/\1/p' <<<"$output" | head -n 1)
    kept=()
    for file in "${files[@]}"; do [ "$file" = "$alone" ] || kept+=("$file"); done
    half=$((${#files[@]} / 2))
    if [ ${#kept[@]} -lt ${#files[@]} ]; then
      later+=("$alone")
      files=("${kept[@]}")
    else
      later+=("${files[@]:half}")
      files=("${files[@]:0:half}")
    fi
  done
  [ ${#later[@]} -eq 0 ] || lint "${later[@]}" || failed=1
  return "$failed"
}
export -f lint as_one by_file
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export flags work for_tests
# shellcheck disable=SC2016
if ! groups | xargs -P "$(nproc)" -I{} bash -c 'lint $1' - {} | sort -u; then
  echo "clang-tidy failed"
  exit 1
fi

[ $# -eq 0 ] || exit 0
mapfile -t scripts < <(git ls-files '*.sh')
shellcheck -x quickstart check .ci/run deploy/debian/holdfastd.postrm "${scripts[@]}"
