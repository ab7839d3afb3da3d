#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from an unpacked bundle: how tenants share a device. Prints, for tenants of weights 1 and 3,
# the kernels a second of each alone and together, and the GPU time that the daemon counted; and the kernels a second
# of one, two and four sessions of small kernels together. All of it with contexts that take turns; then as a group of
# the policy that shares an MPS server, which the daemon starts, and the same with a quarter and three quarters of the
# multiprocessors; and at last what a fault of one tenant costs the other. Exits 0 only if every step ran to its end.
#
# Usage: tenants.sh [SECONDS [BIN]]     SECONDS: of a measurement, default 10; BIN: the folder of holdfastd, holdfast
# and tenant_load, default bin beside this script. DEVICE=cpu measures the software device, to try the script.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-10}
bin=$(cd "${2:-$here/bin}" && pwd) || exit 1
device=${DEVICE:-cuda}
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
directory=$(mktemp -d)
daemon=

stop() {
  local ending=$daemon
  daemon=
  [ -z "$ending" ] || { kill -TERM "$ending" && wait "$ending"; }
}
# shellcheck disable=SC2317  # called by the trap
finish() {
  stop 2>/dev/null
  rm -rf "$directory"
}
trap finish EXIT

# shellcheck source=deploy/gpu/token.sh
. "$here/token.sh"
make_issuer || exit 1
one=$(token tenants.sh one) && three=$(token tenants.sh three) || exit 1
failed=0

# step COMMAND...: counts a failure.
step() {
  "$@" || { echo "FAILED ($?): $1 ${2:-}"; failed=$((failed + 1)); return 1; }
}

# policy NAME [PERCENT PERCENT]: writes a policy with both tenants; in a group that shares an MPS server, with these
# parts of the multiprocessors, if they are given.
policy() {
  {
    printf '[tokens]\nkeys = ["issuer.pem"]\nissuer = "tenants.sh"\naudience = "holdfast"\n'
    [ $# = 1 ] || printf '[groups.both]\nconcurrency = "shared"\n'
    printf '[tenants.one]\nsubjects = ["one"]\nweight = 1\n'
    [ $# = 1 ] || printf 'group = "both"\nthread-percentage = %s\n' "$2"
    printf '[tenants.three]\nsubjects = ["three"]\nweight = 3\n'
    [ $# = 1 ] || printf 'group = "both"\nthread-percentage = %s\n' "$3"
  } >"$directory/$1.toml"
}

# start NAME [PERCENT PERCENT]: a daemon with these tenants.
start() {
  local own="$directory/run-$1"
  policy "$@"
  mkdir "$own" && mkfifo "$own/ready"
  "$bin/holdfastd" --device="$device" --runtime-dir="$own" --listen="unix:$own/holdfast.sock" --warm-executors=4 \
    --policy="$directory/$1.toml" --ready-fd=3 3>"$own/ready" >"$own/log" 2>&1 &
  daemon=$!
  log=$own/log
  read -r HOLDFAST_ADDRESS _ <"$own/ready" || { cat "$own/log"; return 1; }
  export HOLDFAST_ADDRESS
  "$bin/holdfast" devices || { cat "$own/log"; return 1; }
  # The first session of a group starts its server and executors.
  if ! load "$one" --rounds=1 --seconds=1 >/dev/null || ! load "$three" --rounds=1 --seconds=1 >/dev/null; then
    cat "$own/log"
    return 1
  fi
}

# load TOKEN OPTION...: prints kernels a second.
load() {
  local span=(--seconds="$seconds")
  [[ "${*:2}" != *--seconds=* ]] || span=()
  HOLDFAST_TOKEN=$1 "$bin/tenant_load" --address="$HOLDFAST_ADDRESS" "${span[@]}" --warmup=2 "${@:2}"
}

# gpu_seconds NAME: the tenant's GPU time so far. Fails if there is no such tenant.
gpu_seconds() {
  "$bin/holdfast" tenants ls --json | tr '{' '\n' |
    sed -n "s/.*\"name\": \"$1\".*\"gpu_seconds\": \([0-9.e+-]*\).*/\1/p" | grep .
}

# share NAME OPTION...: both tenants alone, and together.
share() {
  local alone_one alone_three before_one before_three after_one after_three other status=0
  alone_one=$(load "$one" "${@:2}") && alone_three=$(load "$three" "${@:2}") || return 1
  before_one=$(gpu_seconds one) && before_three=$(gpu_seconds three) || return 1
  load "$one" "${@:2}" >"$directory/one" &
  other=$!
  load "$three" "${@:2}" >"$directory/three" || status=1
  wait "$other" || status=1
  [ "$status" -eq 0 ] || return 1
  after_one=$(gpu_seconds one) && after_three=$(gpu_seconds three) || return 1
  awk -v name="$1" -v a1="$alone_one" -v a3="$alone_three" -v t1="$(cat "$directory/one")" -v t3="$(cat "$directory/three")" \
    -v g1="$after_one" -v b1="$before_one" -v g3="$after_three" -v b3="$before_three" 'BEGIN {
    if (a1 == 0 || a3 == 0 || t1 + t3 == 0) { print name ": no kernel has run"; exit 1 }
    if (g1 - b1 + g3 - b3 == 0) { print name ": the daemon has counted no GPU time"; exit 1 }
    printf "%-34s alone %9.0f %9.0f /s   together %9.0f %9.0f /s\n", name, a1, a3, t1, t3
    printf "%-34s of its rate alone: weight 1 %5.1f %%, weight 3 %5.1f %%, sum %5.1f %%\n", "", 100 * t1 / a1, 100 * t3 / a3, 100 * (t1 / a1 + t3 / a3)
    printf "%-34s of the GPU time: weight 1 %5.1f %%, weight 3 %5.1f %%\n", "", 100 * (g1 - b1) / (g1 - b1 + g3 - b3), 100 * (g3 - b3) / (g1 - b1 + g3 - b3) }'
}

# crowd COUNT OPTION...: sessions of one tenant at once; prints the sum.
crowd() {
  local i status=0 loads=()
  for i in $(seq "$1"); do
    load "$one" "${@:2}" >"$directory/crowd-$i" &
    loads+=($!)
  done
  for i in "${loads[@]}"; do wait "$i" || status=1; done
  [ "$status" -eq 0 ] || return 1
  for i in $(seq "$1"); do cat "$directory/crowd-$i"; done |
    awk -v count="$1" '{ sum += $1 } END { printf "%d sessions of small kernels: %.0f launches a second together\n", count, sum }'
}

measure() {
  # A kernel that fills the device, some 100 µs; and one of a warp, some 20 µs.
  local full=(--rounds=2000 --blocks=1056 --threads=256 --batch=50) small=(--rounds=1500 --blocks=1 --threads=32 --batch=200)
  if [ "$device" = cpu ]; then full=(--rounds=2000 --blocks=8 --threads=32 --batch=20) small=(--rounds=100 --batch=20); fi
  step share "kernels that fill the device" "${full[@]}"
  step share "small kernels" "${small[@]}"
  for count in 1 2 4; do step crowd "$count" "${small[@]}"; done
}

# served: does the group's MPS server have clients? CUDA says nothing where it cannot be reached.
served() {
  local pipes clients=
  pipes=$(sed -n 's/.* with its pipes in //p' "$log" | tail -n 1)
  for server in $(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipes nvidia-cuda-mps-control); do
    clients+=$(echo "get_client_list $server" | CUDA_MPS_PIPE_DIRECTORY=$pipes nvidia-cuda-mps-control | tr '\n' ' ')
  done
  echo "clients of the MPS server in $pipes: ${clients:-none: the executors cannot reach it}"
  [ -n "$clients" ]
}

# warnings: what the daemon has complained of.
warnings() { grep -E '^[WE]|WARN|ERROR' "$log" | head -5; }

# fault: of tenant one, while three works. On a GPU it interrupts the whole group, so what becomes of three's load is no
# failure; that three cannot work after it is.
fault() {
  local other status=0
  load "$three" --seconds=20 >"$directory/three" &
  other=$!
  sleep 5
  cat >"$directory/fault.ptx" <<'EOF'
.version 7.0
.target sm_52
.address_size 64
.visible .entry fault()
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 4;
  mov.u32 %r1, 7;
  st.global.u32 [%rd1], %r1;
  ret;
}
EOF
  if HOLDFAST_TOKEN=$one "$bin/holdfast" run "$directory/fault.ptx" --kernel fault --grid 1 --block 1; then
    echo "the kernel has not faulted"
    status=1
  fi
  if wait "$other"; then
    echo "its kernels a second, over all: $(cat "$directory/three")"
  else
    echo "its load was interrupted"
    [ "$device" != cpu ] || status=1
  fi
  load "$three" --rounds=1 --seconds=1 >/dev/null || status=1
  "$bin/holdfast" tenants ls --json | tr '{' '\n' |
    grep -o '"name": "[a-z]*"\|"faults": [0-9]*\|"recoveries": [0-9]*' | paste -sd' ' || status=1
  return "$status"
}

echo "== contexts in turns"
step start turns && measure
warnings
step stop

for parts in "100 100" "25 75"; do
  echo "== a group that shares an MPS server, parts of the multiprocessors in percent: $parts"
  # shellcheck disable=SC2086  # two words
  step start "mps-${parts% *}" $parts && { [ "$device" = cpu ] || step served; } && measure
  warnings
  step stop
done

echo "== a fault of one tenant of a group, while the other works"
step start fault 100 100 && step fault
warnings
step stop
echo "$failed failed"
[ "$failed" -eq 0 ]
