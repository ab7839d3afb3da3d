#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under AddressSanitizer and UndefinedBehaviorSanitizer, the tests of what reads a client's bytes and of what keeps
# them: rings, executor, journal, client. With targets as arguments: these only. `./check --config=asan` runs all.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] ||
  set -- //tests/core/base/... //tests/server/executor/... //tests/server/journal/... //tests/client/cpp/...

# Of its own, so that no build of another step waits, nor does one compile again what another compiler has made.
output_base=$(bazel info output_base)-asan
bazel --output_base="$output_base" --max_idle_secs=5 test --config=asan --keep_going --build_tests_only \
  --noshow_progress --noshow_loading_progress -- "$@"
