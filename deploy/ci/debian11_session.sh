#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On Debian 11, where debian11.sh calls it: a daemon of the folder, and what users do with it.
#
# Usage: debian11_session.sh FOLDER
set -euo pipefail
usage() { awk 'NR <= 2 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"; }
[[ ${1:-} != --help ]] || { usage; exit 0; }
[[ $# -eq 1 && -d $1 ]] || { usage >&2; exit 2; }
installed=$1
scratch=$(mktemp -d)
cd "$scratch"
"$installed/holdfastd" --device=cpu --listen="unix:$scratch/socket" --runtime-dir="$scratch" --cache-disk=0 \
  --metrics-address=127.0.0.1:0 --ready-fd=3 3>ready 2>log &
daemon=$!
trap 'kill "$daemon"; wait "$daemon" || true; rm -rf "$scratch"' EXIT
for _ in $(seq 600); do [ ! -s ready ] || break; sleep 0.1; done
[ -s ready ] || { cat log; exit 1; }
export HOLDFAST_ADDRESS=unix:$scratch/socket

"$installed/holdfast" devices
cat >scale.cu <<'CUDA'
template <typename T>
__global__ void scale(T* data, T factor, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
CUDA
"$installed/holdfast" run scale.cu --kernel 'scale<float>' --grid 1 --block 8 --print \
  inout:arange:f32[8]:y.npy f32:3 u64:8 | tee printed
grep -qE '\b0\b.*\b3\b.*\b6\b.*\b21\b' printed
c_saxpy "$HOLDFAST_ADDRESS"
saxpy --address="$HOLDFAST_ADDRESS" --n=65536
# The daemon's own tests of sessions, faults and memory.
service_conformance --gtest_brief=1 | tail -n 3
# Programs of CUDA's, in the daemon and in front of the software driver.
export HOLDFAST_DRIVER_LIBRARY=libcuda.so.1
launches() { "$@" driver_conformance --gtest_filter='LaunchTest.*' --gtest_brief=1 | grep -E '^\[=+\] [1-9][0-9]* tests'; }
launches "$installed/holdfast" exec --
launches env LD_LIBRARY_PATH="$("$installed/holdfast" cuda-path --cpu)"
# A daemon of the library's own.
c_saxpy embedded:device=cpu
port=$(grep -o 'http://.*' ready | sed -E 's|http://[^:/]*:([0-9]+).*|\1|')
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&4
grep -m 1 '^holdfast_build_info' <&4
cat log
grep -qE 'executor.*Landlock, system calls by seccomp' log
