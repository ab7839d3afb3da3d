#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with several GPUs, from an unpacked bundle: the conformance suites of driver and graphs against NVIDIA's
# driver, those of service and sharing beside a daemon that has all the devices, what copies between devices cost
# beside the driver's own, and a suspended session of device 0 that is resumed on device 1. Prints each suite's closing lines, the table of devices and that of copies; the whole output
# of every step is kept in $LOGS. Exits 0 only if all of it is right.
#
# Usage: two_devices.sh [BINDIR]     (default: bin beside this script)
# DEVICE=cpu rehearses the script with software devices; $HOLDFAST_SOFTWARE_DRIVER then names their driver.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:-$here/bin}" && pwd) || exit 2
device=${DEVICE:-cuda}
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
directory=$(mktemp -d)
logs=${LOGS:-$directory/logs}
mkdir -p "$logs" || exit 2
daemon=
failed=0

driver=libcuda.so.1
if [ "$device" = cpu ]; then
  driver=${HOLDFAST_SOFTWARE_DRIVER:?names libholdfast_software.so}
  export HOLDFAST_SOFTWARE_DEVICES=${HOLDFAST_SOFTWARE_DEVICES:-2}
fi

# shellcheck disable=SC2317  # called by the trap
finish() {
  [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; }
  rm -rf "$directory"
}
trap finish EXIT

# step NAME COMMAND...: a program's whole output, which is short.
step() {
  echo
  echo "== $1"
  local log="$logs/${1// /_}.log"
  if "${@:2}" >"$log" 2>&1; then
    cat "$log"
  else
    echo "FAILED ($?): ${*:2}"
    tail -n 40 "$log"
    failed=$((failed + 1))
  fi
}

# suite NAME COMMAND...: failures and closing lines of a GoogleTest program, and which tests were skipped and why.
suite() {
  echo
  echo "== $1"
  local log="$logs/${1// /_}.log" status=0
  "${@:2}" >"$log" 2>&1 || status=$?
  grep -B12 -E '^\[  FAILED  \] .*\([0-9]+ ms\)$' "$log" | head -n 80
  grep -A1 -E ': Skipped$' "$log" | grep -vE ': Skipped$|^--$' | sort | uniq -c
  if ! grep -qE '^\[==========\] .* ran\.' "$log"; then
    tail -n 20 "$log"
  fi
  # The last: some tests run the program again.
  tac "$log" | sed '/^\[==========\] .* ran\./q' | tac
  if [ "$status" -ne 0 ]; then
    echo "FAILED ($status): ${*:2}"
    failed=$((failed + 1))
  fi
}

# A session leaves a kernel's output on device 0, is resumed on device 1 if that is of the same kind, and is fetched there.
move() {
  local run=("$bin/holdfast" run "$directory/ramp.cu" --kernel=ramp --grid=4096 --block=256) id
  echo 'extern "C" __global__ void ramp(int* x) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = 3 * i; }' \
    >"$directory/ramp.cu"
  "${run[@]}" --device=1 "out:$directory/expected.npy:i32[1048576]" &&
    "${run[@]}" --device=0 --detach=5m "out:moved.npy:i32[1048576]" || return
  id=$("$bin/holdfast" sessions --json | grep -o '"session_id": "s-[0-9]*"' | grep -o 's-[0-9]*')
  "$bin/holdfast" sessions suspend "$id" && "$bin/holdfast" sessions resume "$id" --device=1 &&
    "$bin/holdfast" sessions && "$bin/holdfast" attach "$id" --output="$directory" --end &&
    cmp "$directory/moved.npy" "$directory/expected.npy"
}

command -v nvidia-smi >/dev/null && nvidia-smi -L

suite "driver conformance" env HOLDFAST_DRIVER_LIBRARY="$driver" "$bin/driver_conformance"
suite "graph conformance" env HOLDFAST_DRIVER_LIBRARY="$driver" "$bin/graph_conformance"

mkfifo "$directory/ready"
"$bin/holdfastd" --device="$device" --runtime-dir="$directory" --listen="unix:$directory/holdfast.sock" \
  --detached-session-limit=10m --ready-fd=3 3>"$directory/ready" >"$logs/holdfastd.log" 2>&1 &
daemon=$!
read -r HOLDFAST_ADDRESS _ <"$directory/ready" ||
  { echo "holdfastd did not start"; cat "$logs/holdfastd.log"; exit 1; }
export HOLDFAST_ADDRESS

step "devices" "$bin/holdfast" devices
suite "service conformance" "$bin/service_conformance"
suite "sharing conformance" "$bin/sharing_conformance"
step "copies between devices" "$bin/holdfast" bench --only=devices
step "a session moves to another device" move

echo
echo "== the daemon's warnings"
grep -E 'WARN|ERROR' "$logs/holdfastd.log" | head -n 20
kill -0 "$daemon" || { echo "FAILED: holdfastd has ended"; failed=$((failed + 1)); }
echo
echo "$failed failed"
[ "$failed" -eq 0 ]
