# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions with which the scripts of this folder check their arguments. Sourced, from the tree's root.
#
#   take_help "$@"       if --help or -h is among the arguments: prints the comment at the script's head, and exits
#   refuse TEXT          exits with status 2: the arguments are wrong
#   no_arguments "$@"    take_help; refuses all other arguments
#   only_files "$@"      take_help; refuses each argument that does not name a file

take_help() {
  local argument
  for argument in "$@"; do
    case "$argument" in
      -h | --help)
        awk 'NR <= 2 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "deploy/ci/${0##*/}"
        exit 0
        ;;
    esac
  done
}

refuse() {
  echo "${0##*/}: $1; see ${0##*/} --help" >&2
  exit 2
}

no_arguments() {
  take_help "$@"
  [ $# -eq 0 ] || refuse "it takes no argument '$1'"
}

only_files() {
  local file
  take_help "$@"
  for file in "$@"; do
    [ -f "$file" ] || refuse "'$file' is no file"
  done
}
