#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages into a folder: deploy/package.sh [FOLDER], by default ./packages. Reuses
# the targets that Bazel has built already.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/setup/prepare.sh

folder=$(realpath -m "${1:-packages}")
version=$(sed -nE 's/.*kVersion\[\] = "(.*)";/\1/p' server/config/version.h)
[ "$(dpkg-parsechangelog --file deploy/debian/changelog -SVersion)" = "$version" ] ||
  die "deploy/debian/changelog does not begin with version $version, which server/config/version.h has"
require_cuda_toolkit
install_packages debhelper dh-python dpkg-dev libslurm-dev

# dpkg-buildpackage leaves its files beside the folder that it works in.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/holdfast" "$folder"
cp -r deploy/debian "$scratch/holdfast/debian"
(
  cd "$scratch/holdfast"
  # The programs have no debugging symbols to put into packages of their own.
  HOLDFAST_TREE=$OLDPWD DEB_BUILD_OPTIONS="nocheck noautodbgsym ${DEB_BUILD_OPTIONS:-}" \
    dpkg-buildpackage --build=binary --unsigned-changes >"$scratch/log" 2>&1 ||
    { tail -n 40 "$scratch/log"; exit 1; }
)
# Packages of an older version would be installed by FOLDER/*.deb as well.
rm -f "$folder"/*.deb
cp "$scratch"/*.deb "$folder"
cp "$scratch/log" "$folder/build.log"
for package in "$folder"/*.deb; do say "$package ($(du -h "$package" | cut -f1))"; done
