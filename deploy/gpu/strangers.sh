#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From an unpacked bundle: what a tenant who is in notices of 10 000 rejected logins, 10 000 bad tokens and 1000 bad
# policy files. Prints a table: refusals, the daemon's memory before and after, and the time of a launch and its wait,
# local and over TCP, alone and beside each. Fails if a stranger was served or a bad policy was taken.
#
# Usage: strangers.sh [BIN [OPTION...]]     BIN: the folder of holdfastd and strangers, default bin beside this script;
# OPTION: of strangers, as --count=100. DEVICE=cpu uses the software device.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/bin}" && pwd)
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
directory=$(mktemp -d)
daemon=
# shellcheck disable=SC2317  # called by the trap
finish() {
  [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; } || true
  rm -rf "$directory"
}
trap finish EXIT

# shellcheck source=deploy/gpu/token.sh
. "$here/token.sh"
make_issuer
HOLDFAST_TOKEN=$(token strangers in)
export HOLDFAST_TOKEN
printf '%s\n' '[tokens]' 'keys = ["issuer.pem"]' 'issuer = "strangers"' 'audience = "holdfast"' \
  '[tenants.in]' 'subjects = ["in"]' >"$directory/policy.toml"

mkfifo "$directory/ready"
"$bin/holdfastd" --device="${DEVICE:-cuda}" --runtime-dir="$directory/run" --listen="unix:$directory/holdfast.sock" \
  --listen=tcp:127.0.0.1:0 --policy="$directory/policy.toml" --audit-log="$directory/audit.json" --warm-executors=2 \
  --ready-fd=3 3>"$directory/ready" >"$directory/log" 2>&1 &
daemon=$!
read -r address tcp <"$directory/ready" || { cat "$directory/log"; exit 1; }
"$bin/strangers" --address="$address" --tcp="$tcp" --pid="$daemon" --policy="$directory/policy.toml" \
  --audit-log="$directory/audit.json" "${@:2}" || { tail -n 20 "$directory/log"; exit 1; }
