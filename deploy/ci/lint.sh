#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the C++ sources, with the checks of .clang-tidy and Clang's analysis of locks; warnings are
# errors; and shellcheck over every shell script. With arguments: those C++ files only.
set -euo pipefail
cd "$(dirname "$0")/../.."
if git grep -n "absl::Now() - " -- server core client/cpp; then
  echo "A duration by the wall clock is wrong once that clock is set: take SteadyNow() of core/base/steady_time.h" >&2
  exit 1
fi
# shellcheck source=deploy/setup/cxx_flags.sh
. deploy/setup/cxx_flags.sh
build_generated_headers
# The order of locks that ABSL_ACQUIRED_BEFORE writes down is checked in beta alone.
cxx_flags+=(-Wthread-safety-beta)
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
cxx_flags+=(-Xclang -analyzer-config -Xclang max-nodes=5000)
if [ $# -gt 0 ]; then files=("$@"); else
  # The samples are compiled against installed headers, by their own test.
  mapfile -t files < <(git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes},tests}/'*.cc' \
    ':!tests/deploy/development')
fi
if ! deploy/ci/clang_tidy.py "${files[@]}" -- "${cxx_flags[@]}"; then
  echo "clang-tidy failed"
  exit 1
fi

[ $# -eq 0 ] || exit 0
mapfile -t scripts < <(git ls-files '*.sh')
shellcheck -x quickstart check .ci/run deploy/debian/holdfastd.postrm "${scripts[@]}"
