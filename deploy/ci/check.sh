# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How the scripts of this folder report a check. A script that sources it sets $output, the path of a file.
#
#   check TITLE COMMAND...      prints one line, and the end of the command's output if the command fails
#   [ "$failures" -eq 0 ]       whether every check has succeeded

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
