#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a file of pytest with the package of $HOLDFAST_WHEEL_FILE, unpacked as pip does.
set -euo pipefail
for name in HOLDFAST_CLI HOLDFAST_DAEMON HOLDFAST_SOFTWARE_DRIVER HOLDFAST_EXAMPLES HOLDFAST_NAMES \
  HOLDFAST_README; do
  [ -z "${!name:-}" ] || export "$name=$PWD/${!name}"
done
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
/usr/bin/python3 -m zipfile -e "$HOLDFAST_WHEEL_FILE" "$site"
export PYTHONPATH="$site" PYTHONDONTWRITEBYTECODE=1
/usr/bin/python3 -m pytest -q -p no:cacheprovider -o faulthandler_timeout=100 "$@"
