#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each script of deploy/ci prints its help, and refuses an option that it does not know, before it does anything else.
set -uo pipefail
failures=0
fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

scripts=0
for script in deploy/ci/*.sh deploy/ci/*.py; do
  # The others are sourced.
  [[ $(head -n 1 "$script") == '#!'* ]] || continue
  scripts=$((scripts + 1))
  said=$("$script" --help 2>&1)
  status=$?
  [[ $status -eq 0 && ${#said} -gt 50 ]] || fail "$script --help: exit status $status: $said"
  # Its options are those of tests/acceptance/run, which is not here.
  [[ $script != */acceptance.sh ]] || continue
  said=$("$script" --no-such-option 2>&1)
  status=$?
  [[ $status -eq 2 && -n $said ]] || fail "$script --no-such-option: exit status $status: $said"
done
[ "$scripts" -gt 10 ] || fail "$scripts scripts found"
exit "$((failures > 0))"
