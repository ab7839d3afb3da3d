#!/usr/bin/env bash
# On a machine with a GPU, from an unpacked bundle: how tenants share a device. Prints, for tenants of weights 1 and 3,
# the kernels a second of each alone and together, and the GPU time that the daemon counted; and the kernels a second
# of four sessions of small kernels together. All of it with contexts that take turns, and again beneath an MPS server
# if the machine has one.
#
# Usage: tenants.sh [SECONDS]     (default 10 s a measurement)
# DEVICE=cpu measures the software device, to try the script.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-10}
device=${DEVICE:-cuda}
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
bin=$here/bin
directory=$(mktemp -d)
daemon=
mps=

stop() {
  [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; }
  daemon=
}
# shellcheck disable=SC2317  # called by the trap
finish() {
  stop
  [ -z "$mps" ] || echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
  rm -rf "$directory"
}
trap finish EXIT

# start NAME OPTION...: a daemon with two tenants; sets `one` and `three`, their tokens.
start() {
  local own="$directory/$1"
  mkdir "$own" && mkfifo "$own/ready"
  "$bin/holdfastd" --device="$device" --runtime-dir="$own" --listen="unix:$own/holdfast.sock" --warm-executors=4 \
    "${@:2}" --ready-fd=3 3>"$own/ready" >"$own/log" 2>&1 &
  daemon=$!
  read -r HOLDFAST_ADDRESS _ <"$own/ready" || { cat "$own/log"; return 1; }
  export HOLDFAST_ADDRESS
  "$bin/holdfast" devices || { cat "$own/log"; return 1; }
  one=$("$bin/holdfast" tenants create one --weight=1) || return 1
  three=$("$bin/holdfast" tenants create three --weight=3) || return 1
}

# load TOKEN OPTION...: prints kernels a second.
load() {
  HOLDFAST_TOKEN=$1 "$bin/tenant_load" --address="$HOLDFAST_ADDRESS" --seconds="$seconds" --warmup=2 "${@:2}"
}

# gpu_seconds NAME: the tenant's GPU time so far.
gpu_seconds() {
  "$bin/holdfast" tenants ls --json | tr '{' '\n' | sed -n "s/.*\"name\": \"$1\".*\"gpu_seconds\": \([0-9.e+-]*\).*/\1/p"
}

# share NAME OPTION...: both tenants alone, and together.
share() {
  local alone_one alone_three before_one before_three
  alone_one=$(load "$one" "${@:2}")
  alone_three=$(load "$three" "${@:2}")
  before_one=$(gpu_seconds one) before_three=$(gpu_seconds three)
  load "$one" "${@:2}" >"$directory/one" &
  local other=$!
  load "$three" "${@:2}" >"$directory/three"
  wait "$other"
  awk -v name="$1" -v a1="$alone_one" -v a3="$alone_three" -v t1="$(cat "$directory/one")" -v t3="$(cat "$directory/three")" \
    -v g1="$(gpu_seconds one)" -v b1="$before_one" -v g3="$(gpu_seconds three)" -v b3="$before_three" 'BEGIN {
    if (a1 == 0 || a3 == 0 || t1 + t3 == 0) { print name ": FAILED"; exit }
    printf "%-34s alone %9.0f %9.0f /s   together %9.0f %9.0f /s\n", name, a1, a3, t1, t3
    printf "%-34s of its rate alone: weight 1 %5.1f %%, weight 3 %5.1f %%, sum %5.1f %%\n", "", 100 * t1 / a1, 100 * t3 / a3, 100 * (t1 / a1 + t3 / a3)
    printf "%-34s of the GPU time: weight 1 %5.1f %%, weight 3 %5.1f %%\n", "", 100 * (g1 - b1) / (g1 - b1 + g3 - b3), 100 * (g3 - b3) / (g1 - b1 + g3 - b3) }'
}

# crowd COUNT OPTION...: sessions of one tenant at once; prints the sum.
crowd() {
  local waits=()
  for i in $(seq "$1"); do
    load "$one" "${@:2}" >"$directory/crowd-$i" &
    waits+=($!)
  done
  wait "${waits[@]}"
  for i in $(seq "$1"); do cat "$directory/crowd-$i"; done |
    awk -v count="$1" '{ sum += $1 } END { printf "%d sessions of small kernels: %.0f launches a second together\n", count, sum }'
}

measure() {
  # A kernel that fills the device, some 100 µs; and one of a warp, some 20 µs.
  local full=(--rounds=2000 --blocks=1056 --threads=256 --batch=50) small=(--rounds=1500 --blocks=1 --threads=32 --batch=200)
  if [ "$device" = cpu ]; then full=(--rounds=2000 --blocks=8 --threads=32 --batch=20) small=(--rounds=100 --batch=20); fi
  share "kernels that fill the device" "${full[@]}"
  share "small kernels" "${small[@]}"
  for count in 1 2 4; do crowd "$count" "${small[@]}"; done
}

echo "== contexts in turns"
start turns && measure
stop

echo "== beneath an MPS server"
if ! command -v nvidia-cuda-mps-control >/dev/null; then
  echo "this machine has no nvidia-cuda-mps-control"
  exit 0
fi
# Executors see /usr/lib of the machine and not /tmp, and an MPS server serves one user.
pipes=${MPS_PIPES:-/usr/lib/holdfast-mps}
mkdir -p "$pipes" || exit 1
export CUDA_MPS_PIPE_DIRECTORY=$pipes CUDA_MPS_LOG_DIRECTORY=$directory
nvidia-cuda-mps-control -d || { echo "the MPS server does not start"; exit 1; }
mps=started
start mps --user-range=none && measure
echo "clients of the MPS server, by process id of the server (empty: executors cannot reach it):"
for server in $(echo get_server_list | nvidia-cuda-mps-control); do
  echo "server $server: $(echo "get_client_list $server" | nvidia-cuda-mps-control | tr '\n' ' ')"
done
grep -E 'WARN|ERROR' "$directory"/mps/log | head -5
exit 0
