#!/usr/bin/env bash
# clang-tidy over the C++ sources, with the checks of .clang-tidy and Clang's analysis of locks; warnings are
# errors; and shellcheck over every shell script. Needs a finished build, for generated headers. With
# arguments: those C++ files only.
#
# Nearly all of clang-tidy's time goes to the headers that a file includes. So a dozen files of a folder are put
# into one, and headers read once for all. Two of them may define the same name, each for itself: their unnamed
# namespaces get names, and a group that does not compile is halved until it does.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d bazel-bin/proto ] || bazel build //proto/...

flags="-std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto -isystem ${CUDA_HOME:-/usr/local/cuda}/include"
flags="$flags -isystem /usr/include/llvm-19 -isystem /usr/include/llvm-c-19"
python_headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
flags="$flags -isystem $python_headers -DPy_LIMITED_API=0x030A0000 -Wthread-safety -Wfatal-errors"
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=5000"
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes},tests}/'*.cc')
fi
# Tests go without Clang's analyzer, which would take longer than all else, and without advice for speed. They
# look at what was moved from, since that is what some are about.
for_tests="--checks=-clang-analyzer-*,-performance-*,-bugprone-use-after-move"

# Prints lines of at most a dozen files of one folder.
groups() {
  printf '%s\n' "${files[@]}" | awk '
    { folder = $0; sub("/[^/]*$", "", folder) }
    NR > 1 { printf "%s", folder != last || ++count == 12 ? "\n" : " " }
    folder != last || count == 12 { count = 0 }
    { printf "%s", $0; last = folder }
    END { print "" }'
}

# clang-tidy over `files` as one. Prints what it finds; also a crash, or a file that is not there, is a failure.
lint() {
  local group output half checks failed=0
  group=$(mktemp --suffix=.cc -p "$work")
  awk -v files=$# 'FNR == 1 { print "// file: " FILENAME; own = "file_" ++count }
    files > 1 && /^namespace \{$/ { $0 = "namespace " own " {" }
    files > 1 && /^}  \/\/ namespace$/ { $0 = "}  using namespace " own ";" }
    { print }' "$@" >"$group" || return
  checks=""
  if [[ $1 == tests/* ]]; then checks=$for_tests; fi
  # shellcheck disable=SC2086
  if output=$(clang-tidy --quiet --config-file=.clang-tidy $checks "$group" -- $flags 2>&1); then return; fi
  if [ $# -gt 1 ] && grep -q clang-diagnostic-error <<<"$output"; then
    half=$(($# / 2))
    lint "${@:1:half}" || failed=1
    lint "${@:half+1}" || failed=1
    return "$failed"
  fi
  # Lines of the group are named as those of the file that they come from.
  { grep -E '(warning|error):' <<<"$output" || echo "$output"; } | awk -v group="$group" -F : '
    FNR == NR { if (/^\/\/ file: /) { start = FNR; name = substr($0, 10) } at[FNR] = name ":" FNR - start; next }
    $1 == group { sub(/^[^:]*:[0-9]+/, at[$2]) }
    { print }' "$group" -
  return 1
}
export -f lint
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
