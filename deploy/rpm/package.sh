#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes RPM packages of the Debian packages: deploy/rpm/package.sh DEBS [FOLDER [RPMBUILD-OPTION...]]. DEBS is the
# folder that deploy/package.sh has filled; FOLDER, ./rpm by default, gets the packages. Builds nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/setup/prepare.sh
. deploy/setup/prepare.sh

[ $# -gt 0 ] || die "usage: deploy/rpm/package.sh DEBS [FOLDER [RPMBUILD-OPTION...]]"
debs=$(realpath -m "$1")
folder=$(realpath -m "${2:-rpm}")
options=("${@:3}")
install_packages dpkg-dev rpm
changelog=deploy/debian/changelog
version=$(dpkg-parsechangelog --file "$changelog" -SVersion)
[ -e "$debs/holdfastd_${version}_amd64.deb" ] ||
  die "$debs has no packages of version $version: deploy/package.sh makes them"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(dpkg-parsechangelog --file "$changelog" -STimestamp)}
umask 022

# The changelog of the Debian packages, as rpm's.
convert_changelog() {
  awk '
    /^holdfast / { version = substr($2, 2, length($2) - 2); text = "" }
    /^  / { sub(/^  \* /, "- "); text = text $0 "\n" }
    /^ -- / {
      match($0, />  /)
      split(substr($0, RSTART + 3), date, /,? +/)
      who = substr($0, 5, RSTART - 4)
      printf "* %s %s %s %s %s - %s-1\n%s\n", date[1], date[3], date[2], date[4], who, version, text
    }' "$changelog"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/staged" "$folder"
convert_changelog >"$scratch/staged/changelog"
deploy/rpm/layout.py "$scratch/staged" "$debs"/*_"${version}"_*.deb
# rpm would read the user's macros otherwise.
HOME=$scratch rpmbuild -bb --target x86_64-linux --define "_topdir $scratch/top" --define "_rpmdir $scratch/rpm" \
  --define "version $version" --define "debs $debs" --define "staged $scratch/staged" "${options[@]}" \
  deploy/rpm/holdfast.spec >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log"; exit 1; }
grep -i '^warning' "$scratch/log" && die "rpmbuild has warned"
# Packages of an older version would be installed by FOLDER/*.rpm as well.
rm -f "$folder"/*.rpm
cp "$scratch"/rpm/x86_64/*.rpm "$folder"
for package in "$folder"/*.rpm; do say "$package ($(du -h "$package" | cut -f1))"; done
