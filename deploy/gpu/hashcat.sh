#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hashcat measures itself on a GPU, on NVIDIA's driver and in daemons, in turns. Needs hashcat and NVRTC on the
# loader's path.
#   hashcat.sh ADDRESS [ADDRESS...]      such as unix:/run/holdfast/holdfast.sock tcp:127.0.0.1:7070
# HOLDFAST is the command line (by default the one on the path), MODES hashcat's kinds of hashes, ROUNDS how often.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: $0 ADDRESS..." >&2; exit 2; }
holdfast=${HOLDFAST:-holdfast}

# Prints the hashes a second that hashcat reports, which is the last of its fields.
speed() {
  "$@" hashcat --benchmark --machine-readable --backend-ignore-opencl --hash-type="$mode" 2>/dev/null |
    sed -nE 's/^[0-9]+:[0-9]+:.*:([0-9]+)$/\1/p' | tail -n 1
}

for mode in ${MODES:-0 1000 1400}; do
  for round in $(seq "${ROUNDS:-2}"); do
    native=$(speed env)
    echo "mode $mode, round $round: native $native hashes/s"
    for address in "$@"; do
      daemon=$(speed "$holdfast" exec --address="$address" --)
      awk -v daemon="$daemon" -v native="$native" -v address="$address" \
        'BEGIN { printf "  %s: %s, %.3f of native\n", address, daemon, daemon / native }'
    done
  done
done
