# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the scripts of this folder tell of a check. Sourced by those that set $output, a file.
#
#   check TITLE COMMAND...      one line for a command that succeeds, the end of its output for one that does not
#   [ "$failures" -eq 0 ]       whether each has succeeded

failures=0

check() {
  local title=$1
  shift
  if "$@" >"${output:?}" 2>&1; then
    echo "ok: $title"
  else
    echo "FAILED: $title"
    tail -n 20 "$output"
    failures=$((failures + 1))
  fi
}
