#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The product as users have it: the programs of tests/acceptance against the Debian packages with the
# system's daemon, the wheel in a virtual environment, and the bundle, as root and as an ordinary user, on a
# Debian that systemd boots and that has no Bazel's sandbox around. Prints one table.
#
# Usage: acceptance.sh [OPTION...]     options of tests/acceptance/run, such as --filter='python/*'
# PACKAGES=FOLDER takes packages that deploy/package.sh has made. HOLDFAST_MACHINE=minimal boots a clean Debian
# (deploy/ci/machine.sh). Where nothing can be booted, the wheel and the bundle are tried on this machine, as
# its user, and the packages are not.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
take_help "$@"
# Refuses an unknown option before anything is built.
tests/acceptance/run --promises "$@" >/dev/null
# shellcheck source=deploy/ci/machine.sh
. deploy/ci/machine.sh

tests/acceptance/run --promises | diff - <(sed -n '/^| what is promised/,/^$/{/^$/!p}' tests/acceptance/README.md) ||
  { echo "tests/acceptance/README.md does not have the table of tests/acceptance/run --promises"; exit 1; }
folder=$(mktemp -d)
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bundle"
bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle //client/python:full_wheel
cp bazel-bin/deploy/holdfast*.tar.gz "$folder/bundle"
cp bazel-bin/client/python/full.whl "$folder/holdfast.whl"
cp -r tests/acceptance "$folder/acceptance"

if ! reason=$(machine_can_boot); then
  echo "The packages are not installed: $reason"
  "$folder/acceptance/run" --wheel="$folder/holdfast.whl" --bundle="$folder/bundle" --device=cpu "$@"
  exit
fi
if [ -n "${PACKAGES:-}" ]; then cp "$PACKAGES"/*.deb "$folder"; else deploy/package.sh "$folder" >"$folder/package.log"; fi
export HOLDFAST_MACHINE_PACKAGES=gcc,g++,pkg-config,python3-numpy,python3-venv
machine_boot "$folder"
trap 'machine_halt; rm -rf "$folder"' EXIT
in_machine sh -c 'useradd --create-home alice
  apt-get install --yes --no-download /packages/*.deb || apt-get install --yes /packages/*.deb' >"$folder/install.log" 2>&1 ||
  { tail -n 20 "$folder/install.log"; exit 1; }
in_machine sh -c 'usermod --append --groups holdfast alice && systemctl start holdfastd.service'
until_true 60 in_machine systemctl is-active holdfastd.service
in_machine env PATH=/usr/local/bin:/usr/bin:/bin /packages/acceptance/run --packages --wheel=/packages/holdfast.whl \
  --bundle=/packages/bundle --device=cpu --user=root --user=alice "$@"
