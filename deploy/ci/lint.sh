#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the C++ sources, with the checks of .clang-tidy and Clang's analysis of locks; warnings are
# errors; and shellcheck over every shell script.
#
# Usage: lint.sh [--part | FILE...]     with C++ files: these files only. With --part: the files of the last 30 commits,
#                                       and a third of the others, which changes with each commit
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
case "${1:-}" in
  --part) [ $# -eq 1 ] || refuse "--part takes no files" ;;
  *) only_files "$@" ;;
esac
# Times of files are compared with the wall clock.
if git grep -nE "absl::Now\(\) - |absl::Now\(\)( \+ [A-Za-z_.:]+)? *[<>]|[<>]=? *absl::Now\(\)" -- \
  server core client/cpp ':!core/base/cache_directory.cc'; then
  echo "A duration by the wall clock is wrong once that clock is set: take SteadyNow() of core/base/steady_time.h" >&2
  exit 1
fi
# shellcheck source=deploy/setup/cxx_flags.sh
. deploy/setup/cxx_flags.sh
build_generated_headers
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
cxx_flags+=(-Xclang -analyzer-config -Xclang max-nodes=5000)

# The samples are compiled against installed headers, by their own test.
all_files() {
  git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes},tests}/'*.cc' ':!tests/deploy/development' | sort
}
part() {
  local turn
  turn=$(($(git rev-list --count HEAD) % 3))
  {
    comm -12 <(all_files) <(git log -30 --name-only --diff-filter=d --format= -- '*.cc' | sort -u)
    all_files | awk -v turn="$turn" 'NR % 3 == turn'
  } | sort -u
}
case "${1:-}" in
  "") mapfile -t files < <(all_files) ;;
  --part) mapfile -t files < <(part) ;;
  *) files=("$@") ;;
esac
if ! deploy/ci/clang_tidy.py "${files[@]}" -- "${cxx_flags[@]}"; then
  echo "clang-tidy failed"
  exit 1
fi

[ $# -eq 0 ] || [ "$1" = --part ] || exit 0
mapfile -t scripts < <(git ls-files '*.sh')
shellcheck -x quickstart check .ci/run deploy/debian/holdfastd.postrm "${scripts[@]}"
