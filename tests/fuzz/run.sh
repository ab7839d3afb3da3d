#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer for so many seconds, one after the other, and prints a table of executions and findings. Exits 0
# only if there was no finding.
#
# Usage: tests/fuzz/run.sh SECONDS [BAZEL_OPTION...]     for instance: tests/fuzz/run.sh 3600 --config=asan
# SEED=7 begins elsewhere; the default is 1. ONLY=commands runs those whose name contains this.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
seconds=${1:?seconds for each fuzzer}
seed=${SEED:-1}
only=${ONLY:-}
bazel build --noshow_progress "${@:2}" //tests/fuzz/... //core/software:libholdfast_software.so || exit 2
export HOLDFAST_SOFTWARE_DRIVER=$PWD/bazel-bin/core/software/libholdfast_software.so HOLDFAST_SOFTWARE_MEMORY=128M
# Ends what hostile graphs begin: loops without an end, the largest grids.
export HOLDFAST_SOFTWARE_LAUNCH_TIMEOUT=2
# As the build has it for tests; see .bazelrc.
export ASAN_OPTIONS=${ASAN_OPTIONS:-intercept_tls_get_addr=0}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
echo "| fuzzer | executions | findings | what was reached |"
echo "| --- | --- | --- | --- |"
for fuzzer in $(find -L bazel-bin/tests/fuzz -name "*${only}*_fuzz_test" -type f -perm -u+x -not -path '*.runfiles/*' | sort); do
  name=${fuzzer#bazel-bin/tests/fuzz/}
  "$fuzzer" --seconds="$seconds" --seed="$seed" >"$log" 2>&1 || failed=$((failed + 1))
  grep -A1 FINDING "$log" >&2
  sed -nE "s,^([0-9]+) executions\, ([0-9]+) findings\, seed [0-9]+; (.*)$,| \`$name\` | \1 | \2 | \3 |,p" "$log"
  grep -qE '^[0-9]+ executions,' "$log" || { echo "| \`$name\` | | did not run | |"; tail -n 20 "$log" >&2; }
done
[ "$failed" -eq 0 ]
