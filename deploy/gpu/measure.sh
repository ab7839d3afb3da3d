#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from an unpacked bundle: the conformance suite against NVIDIA's driver, the
# examples through a daemon, SAXPY beside the native program, and `holdfast bench`. Exits 0 only if all of it
# is right; a bar that is not met is no failure.
#
# Usage: measure.sh [RUNS]     (default 3 runs of each timed program)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-3}
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
failed=0
# step TITLE COMMAND...: no command takes longer than STEP_SECONDS.
step() {
  echo
  echo "== $1"
  shift
  timeout --foreground "${STEP_SECONDS:-240}" "$@" || { echo "FAILED ($?): $*"; failed=$((failed + 1)); }
}

directory=$(mktemp -d)
daemons=()
# start NAME OPTION...: a daemon with a directory of its own; sets `addresses`.
start() {
  local own="$directory/$1"
  mkdir "$own" && mkfifo "$own/ready"
  "$here/bin/holdfastd" --device=cuda --runtime-dir="$own" "${@:2}" --ready-fd=3 3>"$own/ready" &
  daemons+=($!)
  read -r addresses <"$own/ready"
}
stop() {
  for daemon in "${daemons[@]}"; do
    kill -TERM "$daemon" 2>/dev/null && wait "$daemon"
  done
  daemons=()
}
trap 'stop; rm -rf "$directory"' EXIT
start plain --listen="unix:$directory/holdfast.sock" --listen=tcp:127.0.0.1:0 ||
  { echo "holdfastd did not start"; exit 1; }
address=$(grep -oE 'unix:[^ ,]+' <<<"$addresses")
network=(--tcp="$(grep -oE 'tcp:[^ ,]+' <<<"$addresses")")
# TLS with a certificate of its own, on a daemon of its own.
if openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
  -addext subjectAltName=IP:127.0.0.1 -keyout "$directory/key.pem" -out "$directory/cert.pem" 2>"$directory/openssl.log" &&
  start tls --listen=tcp:127.0.0.1:0 --tls-cert="$directory/cert.pem" --tls-key="$directory/key.pem"; then
  tls=$(grep -oE 'tcp:[^ ,]+' <<<"$addresses")
  network+=(--tls="tls:${tls#tcp:}?ca=$directory/cert.pem")
else
  echo "TLS is not measured:"
  cat "$directory/openssl.log"
fi
export HOLDFAST_ADDRESS=$address

step "Devices" "$here/bin/holdfast" devices
step "Driver conformance on libcuda.so.1" \
  env HOLDFAST_DRIVER_LIBRARY=libcuda.so.1 "$here/bin/driver_conformance" --gtest_brief=1
step "Daemon beside driver and compilers" "$here/bin/service_conformance" --gtest_brief=1
step "vector_add" "$here/bin/vector_add" --address="$address"
step "scale" "$here/bin/scale" --address="$address"
for run in $(seq "$runs"); do
  step "SAXPY, native, run $run" "$here/bin/saxpy_native"
  step "SAXPY, through Holdfast, run $run" "$here/bin/saxpy" --address="$address"
done
step "Bench" "$here/bin/holdfast" bench "${network[@]}"
# With nothing else on the GPU the driver starts from sleep.
stop
for run in $(seq "$runs"); do
  step "SAXPY, native, nothing else on the GPU, run $run" "$here/bin/saxpy_native"
done
echo
echo "$failed failed"
[ "$failed" -eq 0 ]
