# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the programs of the command line share. Sourced; ends with `finish`.
wrongs=0
right() { echo "right: $*"; }
wrong() {
  echo "wrong: $*"
  wrongs=$((wrongs + 1))
}
finish() { exit $((wrongs > 0)); }

# works TITLE COMMAND...: exit status 0. Its output is in the file `out`.
works() {
  local title=$1 status=0
  shift
  "$@" >out 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then right "$title"; else wrong "$title: status $status: $(tr '\n' ' ' <out)"; fi
}

# refused TITLE STATUS PATTERN COMMAND...: this exit status, and the output has the pattern.
refused() {
  local title=$1 wanted=$2 pattern=$3 status=0
  shift 3
  "$@" >out 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ]; then
    wrong "$title: status $status instead of $wanted: $(tr '\n' ' ' <out)"
  elif ! grep -qE -- "$pattern" out; then
    wrong "$title: the message lacks /$pattern/: $(tr '\n' ' ' <out)"
  else
    right "$title"
  fi
}

# same TITLE GOT WANTED
same() {
  if [ "$2" = "$3" ]; then right "$1"; else wrong "$1: '$2' instead of '$3'"; fi
}

# array FILE: the array in it, flat, as Python writes it.
array() { "$PYTHON" -c 'import sys, numpy; print(numpy.load(sys.argv[1]).ravel().tolist())' "$1" 2>&1; }
