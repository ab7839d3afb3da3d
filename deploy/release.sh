#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release into a folder.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=deploy/setup/prepare.sh
. deploy/setup/prepare.sh

usage() {
  cat <<'EOF'
Usage: deploy/release.sh [--twice] [--dirty] [--no-image] [FOLDER]

Makes all that is given to users, of a clean checkout, into FOLDER (./release), which must be new or empty:

  holdfast-VERSION-*.whl               the Python package, with daemon, software driver and command line
  holdfast-*-VERSION-linux-x86_64.tar.gz   the bundle, in five archives
  apt/                                 the Debian packages, as an apt repository
  rpm/                                 the RPM packages, as a dnf repository
  holdfast-VERSION-image.tar           the container image, where podman is there and can get its base image
  holdfast-VERSION.cdx.json            the libraries that are linked in, as a CycloneDX bill of materials
  SHA256SUMS                           of all of these

Every time stamp is that of the commit ($SOURCE_DATE_EPOCH), so that the same commit makes the same bytes with the same
compilers and libraries.

  --twice   builds and packs everything again, in another folder and without any cache, and fails unless each file has
            the same bytes; not the image. Takes as long as a first build
  --dirty   accepts changes that are not committed
  --no-image   makes no container image

$HOLDFAST_IMAGE_BASE names another base image than debian:bookworm-slim, such as one of this machine.
EOF
}

twice="" dirty="" image=yes folder=release
for argument in "$@"; do
  case "$argument" in
    --twice) twice=yes ;;
    --dirty) dirty=yes ;;
    --no-image) image="" ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; die "unknown option: $argument" ;;
    *) folder=$argument ;;
  esac
done

[ -n "$dirty" ] || [ -z "$(git status --porcelain)" ] || die "there are changes that are not committed (--dirty accepts them)"
folder=$(realpath -m "$folder")
mkdir -p "$folder"
[ -z "$(ls -A "$folder")" ] || die "$folder is not empty"
version=$(sed -nE 's/.*kVersion\[\] = "(.*)";/\1/p' server/config/version.h)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022

# An apt repository: pool/ has the packages, dists/ the lists that apt reads.
make_apt_repository() {  # FOLDER
  local lists=dists/stable/main/binary-amd64
  (
    cd "$1"
    mkdir -p "$lists"
    apt-ftparchive packages pool >"$lists/Packages"
    gzip --keep --no-name "$lists/Packages"
    apt-ftparchive -o APT::FTPArchive::Release::Origin=Holdfast -o APT::FTPArchive::Release::Label=Holdfast \
      -o APT::FTPArchive::Release::Suite=stable -o APT::FTPArchive::Release::Codename=stable \
      -o APT::FTPArchive::Release::Architectures=amd64 -o APT::FTPArchive::Release::Components=main \
      release dists/stable >dates
    # The tool writes its own time.
    sed "s/^Date: .*/Date: $(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')/" dates >dists/stable/Release
    rm dates
  )
}

# A dnf repository: repodata/ has the lists that dnf reads.
make_dnf_repository() {  # FOLDER
  # The lists have the files' times.
  touch --date="@$SOURCE_DATE_EPOCH" "$1"/*.rpm
  createrepo_c --quiet --workers=1 --no-database --simple-md-filenames --revision="$SOURCE_DATE_EPOCH" \
    --set-timestamp-to-revision "$1"
}

build_and_pack() {  # FOLDER: all but the image, of the tree in the working directory
  local archive
  bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle //client/python:full_wheel
  deploy/package.sh "$1/apt/pool"
  rm "$1/apt/pool/build.log"
  make_apt_repository "$1/apt"
  deploy/rpm/package.sh "$1/apt/pool" "$1/rpm"
  make_dnf_repository "$1/rpm"
  for archive in bazel-bin/deploy/holdfast*.tar.gz; do
    cp "$archive" "$1/$(basename "$archive" .tar.gz)-$version-linux-x86_64.tar.gz"
  done
  cp bazel-bin/client/python/full.whl "$1/$(python3 client/python/build_wheel.py --name "$version")"
  deploy/sbom.py "$version" >"$1/holdfast-$version.cdx.json"
  chmod -R u=rwX,go=rX "$1"
}

# Makes the release in a copy of the tree, by a Bazel that shares nothing with the first one: no output, no cache, no
# settings of the user's.
build_and_pack_elsewhere() {  # SCRATCH FOLDER
  local scratch=$1
  mkdir -p "$scratch/tree" "$scratch/programs" "$2"
  git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar --extract --directory "$scratch/tree"
  cat >"$scratch/programs/bazel" <<EOF
#!/bin/sh
exec $(command -v bazel) --nohome_rc --output_base=$scratch/output "\$@"
EOF
  chmod +x "$scratch/programs/bazel"
  (
    cd "$scratch/tree"
    export PATH=$scratch/programs:$PATH
    trap 'bazel shutdown 2>/dev/null; chmod -R u+w "$scratch/output"' EXIT
    build_and_pack "$2"
  )
}

make_image() {
  local base=${HOLDFAST_IMAGE_BASE:-docker.io/library/debian:bookworm-slim}
  command -v podman >/dev/null || { say "No image: podman is not installed"; return; }
  podman image exists "$base" || podman pull --quiet "$base" >/dev/null 2>&1 ||
    { say "No image: there is no base image $base here, and none can be fetched"; return; }
  podman build --quiet --timestamp "$SOURCE_DATE_EPOCH" --build-arg "BASE=$base" --tag "holdfast:$version" \
    --file deploy/container/Containerfile "$folder/apt/pool"
  podman save --quiet --output "$folder/holdfast-$version-image.tar" "holdfast:$version"
}

install_packages apt-utils createrepo-c
say "Building"
build_and_pack "$folder"
if [ -n "$twice" ]; then
  say "Building again, elsewhere"
  again=$(mktemp -d)
  trap 'rm -rf "$again"' EXIT
  build_and_pack_elsewhere "$again" "$again/release"
  diff --recursive "$folder" "$again/release" || die "the same commit made other bytes"
  say "Twice the same bytes"
fi
[ -z "$image" ] || make_image
deploy/ci/glibc.sh "$folder"/*.whl "$folder"/*.tar.gz "$folder"/apt/pool/*.deb "$folder"/rpm/*.rpm
sums=$(cd "$folder" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" >"$folder/SHA256SUMS"
say "$folder"
(cd "$folder" && du -ah --max-depth=1 . | LC_ALL=C sort -k2)
