#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mypy, strictly, over the package's stubs, and over the examples, which use them.
set -euo pipefail
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
/usr/bin/python3 -m zipfile -e "$1" "$site"
export MYPYPATH="$site"
stubs=$(find "$site/holdfast" -name '*.pyi')
# shellcheck disable=SC2086  # one word a file
/usr/bin/mypy --strict --no-incremental $stubs
/usr/bin/mypy --no-incremental --ignore-missing-imports --scripts-are-modules client/python/examples/*.py
