#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under AddressSanitizer and UndefinedBehaviorSanitizer: the tests of core/base, among them the rings, whose other end is
# hostile. `./check --config=asan` runs all tests.
#
# Usage: sanitizer.sh [TARGET...]     these targets instead, such as //tests/server/executor/...
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
take_help "$@"
for target in "$@"; do
  [[ $target == //* ]] || refuse "'$target' is no target"
done
[ $# -gt 0 ] || set -- //tests/core/base/...

# This step has an output base of its own, so that no other step's build waits for it or compiles again. It makes no
# links in the tree: bazel-bin stays the other steps', and Bazel would take a link to this base for a package.
output_base=$(bazel info output_base)-asan
bazel --output_base="$output_base" --max_idle_secs=5 test --config=asan --keep_going --build_tests_only \
  --symlink_prefix=/ --noshow_progress --noshow_loading_progress -- "$@"
