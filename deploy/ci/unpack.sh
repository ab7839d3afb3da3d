# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Unpacks what is shipped. Sourced.
#
#   unpack FILE FOLDER              an archive (.deb, .rpm, .whl, .tar.gz); another file is copied
#   programs_and_libraries FOLDER   prints the path of each program and library in FOLDER

unpack() {
  mkdir -p "$2"
  case "$1" in
    *.deb) dpkg-deb --extract "$1" "$2" ;;
    *.rpm) rpm2archive - <"$1" | tar -xz -C "$2" ;;
    *.whl) python3 -m zipfile -e "$1" "$2" ;;
    *.tar.gz) tar -xzf "$1" -C "$2" ;;
    *) cp -L "$1" "$2" ;;
  esac
}

programs_and_libraries() { find "$1" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' - {} \; -print; }
