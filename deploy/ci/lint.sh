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
bazel build --noshow_progress //proto/... //tests/bench/software:kernels_text

flags="-std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto -isystem ${CUDA_HOME:-/usr/local/cuda}/include"
flags="$flags -iquote tests/acceptance/checks -isystem client/c"
flags="$flags -isystem /usr/include/llvm-19 -isystem /usr/include/llvm-c-19"
python_headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
flags="$flags -isystem $python_headers -DPy_LIMITED_API=0x030A0000 -Wthread-safety"
# The order of locks that ABSL_ACQUIRED_BEFORE writes down is checked in beta alone.
flags="$flags -Wthread-safety-beta"
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=5000"
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes},tests}/'*.cc')
fi
# shellcheck disable=SC2086
if ! deploy/ci/clang_tidy.py "${files[@]}" -- $flags; then
  echo "clang-tidy failed"
  exit 1
fi

[ $# -eq 0 ] || exit 0
mapfile -t scripts < <(git ls-files '*.sh')
shellcheck -x quickstart check .ci/run deploy/debian/holdfastd.postrm "${scripts[@]}"
