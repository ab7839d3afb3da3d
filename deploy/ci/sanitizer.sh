#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under AddressSanitizer and UndefinedBehaviorSanitizer: the tests of core/base, among them the rings, whose other end is
# hostile. With targets as arguments: these, such as //tests/server/executor/... `./check --config=asan` runs all.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- //tests/core/base/...

# An output base of its own, so that no build of another step waits or compiles again; and no links in the tree, since
# bazel-bin is the other steps' and a link to this base would be read as a package.
output_base=$(bazel info output_base)-asan
bazel --output_base="$output_base" --max_idle_secs=5 test --config=asan --keep_going --build_tests_only \
  --symlink_prefix=/ --noshow_progress --noshow_loading_progress -- "$@"
