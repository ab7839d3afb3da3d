#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the manual pages of the daemon and the command line in a folder.
#
# Usage: manual.sh FOLDER HOLDFASTD HOLDFAST POLICY.md
set -euo pipefail
folder=$1 daemon=$2 client=$3 policy=$4
# What is a default for root is the manual's.
as_root=()
[ "$(id -u)" = 0 ] || as_root=(unshare --map-root-user)
describe() { "${as_root[@]}" python3 -B "$(dirname "$0")/describe.py" "$@"; }

describe manuals --section=1 --folder="$folder" "$client" --see-also='holdfastd(8)'
describe manual --section=8 "$daemon" --see-also='holdfast(1), holdfastd.toml(5), holdfast-policy(5)' >"$folder/holdfastd.8"
describe manual --section=5 "$daemon" --configuration --see-also='holdfastd(8), holdfast-policy(5)' >"$folder/holdfastd.toml.5"
describe page "$policy" --see-also='holdfastd(8), holdfastd.toml(5), holdfast(1)' >"$folder/holdfast-policy.5"
