#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every command that a README shows: each fenced block that is marked `sh`, from the tree's root,
# in the order of the text. Blocks of one README share a scratch directory, $HOLDFAST_SCRATCH. Blocks that
# only show output, or need a GPU or a second machine, are marked `console` instead.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"
bazel build --noshow_progress --ui_event_filters=-info //server:holdfastd //client/cli:holdfast \
  //client/examples:all //core/software:libholdfast_software.so

run_readme() {
  local readme=$1 scratch script status=0
  scratch=$(mktemp -d)
  script="$scratch/commands.sh"
  awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$readme" >"$script"
  if [ -s "$script" ]; then
    echo "-- $readme"
    HOLDFAST_SCRATCH=$scratch PATH="$PWD/bazel-bin/client/cli:$PWD/bazel-bin/server:$PATH" \
      bash -eu "$script" || status=$?
  fi
  rm -rf "$scratch"
  [ "$status" -eq 0 ] || echo "FAILED: a command of $readme (exit $status)"
  return "$status"
}

result=0
while read -r readme; do
  run_readme "$readme" || result=1
done < <(git ls-files '*README.md')
exit "$result"
