#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# programs_test.sh direct LIBCUDART DRIVER
# programs_test.sh daemon LIBCUDART HOLDFAST [HOLDFASTD DRIVER LIBCUDA]
#
# Programs that nvcc compiles for a shared runtime print what they should with ours: over a driver (a file, or a folder
# with libcuda.so.1), or in a daemon of `holdfast exec`, installed or of these files. Skipped without nvcc.
set -uo pipefail
kind=$1
libcudart=$(realpath "$2")
shift 2
programs=$(dirname "$(realpath "$0")")/programs
# Compiled again with a default stream for each thread.
per_thread=" streams vector_add "
# Compiled again in parts, which the driver links.
in_parts=" constant_memory cooperative_groups "

nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
if [ ! -x "$nvcc" ]; then
  echo "There is no $nvcc: skipped."
  exit 0
fi

directory=$(mktemp -d /tmp/holdfast-XXXXXX)
trap 'rm -rf "$directory"' EXIT
export XDG_CACHE_HOME=$directory/cache
mkdir "$directory/lib"
ln -s "$libcudart" "$directory/lib/libcudart.so.13"
export LD_LIBRARY_PATH=$directory/lib
# multi_device copies between devices.
export HOLDFAST_SOFTWARE_DEVICES=2
runner=()
if [ "$kind" = daemon ]; then
  runner=("$(realpath "$1")" exec --device=cpu --)
  if [ $# -gt 1 ]; then
    HOLDFAST_DAEMON=$(realpath "$2") HOLDFAST_SOFTWARE_DRIVER=$(realpath "$3") HOLDFAST_LIBCUDA=$(realpath "$4")
    export HOLDFAST_DAEMON HOLDFAST_SOFTWARE_DRIVER HOLDFAST_LIBCUDA
  fi
elif [ -d "$1" ]; then
  LD_LIBRARY_PATH=$(realpath "$1"):$LD_LIBRARY_PATH
else
  ln -s "$(realpath "$1")" "$directory/lib/libcuda.so.1"
fi

# Of assert.cu, as CUDA writes it, with a grave accent of its own.
# shellcheck disable=SC2016
failed_assertion='assert\.cu:[0-9]+: .*Assert.*: block: \[[01],0,0\], thread: \[60,0,0\] Assertion `threadIdx\.x < limit` failed\.$'
failures=0
try() {  # NAME OPTION...: compiles a program, runs it and compares what it prints.
  local name=$1 output
  shift
  # PTX, which every driver compiles for its device.
  if ! "$nvcc" -std=c++17 -cudart shared -gencode arch=compute_80,code=compute_80 "$@" -o "$directory/$name" \
    "$programs/$name.cu" 2>"$directory/log"; then
    cat "$directory/log"
    echo "$name $*: not compiled"
    failures=$((failures + 1))
    return
  fi
  output=$("${runner[@]}" "$directory/$name" 2>"$directory/log")
  local status=$?
  if [ "$status" -ne 0 ] || ! diff <(echo "$output") "$programs/$name.txt"; then
    cat "$directory/log"
    echo "$name $*: failed, exit status $status"
    failures=$((failures + 1))
  fi
  if [ "$name" = assert ] && ! grep -qE "$failed_assertion" "$directory/log"; then
    cat "$directory/log"
    echo "$name $*: no failed assertion on standard error"
    failures=$((failures + 1))
  fi
}

for source in "$programs"/*.cu; do
  name=$(basename "$source" .cu)
  try "$name"
  if [[ $per_thread == *" $name "* ]]; then try "$name" --default-stream per-thread; fi
  if [[ $in_parts == *" $name "* ]]; then try "$name" -rdc=true; fi
done

# The host's pointer to a __managed__ variable would be null: the program ends with a sentence instead.
cat >"$directory/managed.cu" <<'END'
#include <cstdio>
__managed__ int counter = 5;
__global__ void Add() { counter += 2; }
int main() { return counter; }
END
if "$nvcc" -std=c++17 -cudart shared -gencode arch=compute_80,code=compute_80 -o "$directory/managed" \
  "$directory/managed.cu"; then
  "${runner[@]}" "$directory/managed" 2>"$directory/log"
  status=$?
  if [ "$status" -ne 1 ] || ! grep -q '^libcudart: counter is a __managed__ variable' "$directory/log"; then
    cat "$directory/log"
    echo "a __managed__ variable: exit status $status"
    failures=$((failures + 1))
  fi
else
  echo "a __managed__ variable: not compiled"
  failures=$((failures + 1))
fi

# With NVIDIA's runtime inside, or in a library, a program is told why it does not run, once.
is_told() {  # COMMAND...
  local said
  said=$("${runner[@]}" "$@" 2>&1 | grep -c 'private tables')
  [ "$said" -eq 1 ] && return
  echo "$*: told $said times that the driver has no private tables"
  failures=$((failures + 1))
}
if "$nvcc" -std=c++17 -gencode arch=compute_80,code=compute_80 -o "$directory/static" "$programs/vector_add.cu"; then
  is_told "$directory/static"
else
  echo "vector_add with NVIDIA's runtime: not compiled"
  failures=$((failures + 1))
fi
libraries=${CUDA_HOME:-/usr/local/cuda}/lib64
if [ -e "$libraries/libcublas.so.13" ]; then
  is_told sh -c "LD_LIBRARY_PATH=\$LD_LIBRARY_PATH:$libraries exec /usr/bin/python3 -c \
    'import ctypes; ctypes.CDLL(\"libcublas.so.13\").cublasCreate_v2(ctypes.byref(ctypes.c_void_p()))'"
fi
exit "$failures"
