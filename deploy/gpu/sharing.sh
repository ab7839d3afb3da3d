#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from a checkout and a folder of release binaries: what sharing costs, and with whom it works.
#   1. A model in 1000 arrays: loaded once and mapped by ten processes, beside processes that load it themselves
#      (client/python/bench/model.py). Every process sums every array.
#   2. Streams of two sessions in turns, over semaphores and over events, beside two streams of one native process
#      (`holdfast bench --only=sharing`).
#   3. The table of foreigners: kind x direction x (works, survives its maker's death, survives a fault)
#      (foreigners.py).
# Needs Python with NumPy; PyTorch for 1; PyTorch, CuPy and cuda.core for 3. Exits 0 only if every step ran to its end.
#
# Usage: sharing.sh BINDIR [GIB] [PROCESSES]      (default 48 GiB, 10 processes)
# BINDIR has holdfastd, holdfast and the Python package: a wheel (holdfast*.whl), or unpacked (python/holdfast).
# SHOWS="1 2 3" says which; FOLDER=/dev/shm where the model's file is written; PYTHON=python3. DEVICE=cpu, to try 2.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?usage: sharing.sh BINDIR [GIB] [PROCESSES]}" && pwd) || exit 1
gib=${2:-48}
processes=${3:-10}
python=${PYTHON:-python3}
folder=${FOLDER:-/dev/shm}
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
directory=$(mktemp -d)
daemon=
failed=0

# shellcheck disable=SC2317  # called by the trap
finish() {
  [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; }
  rm -rf "$directory"
}
trap finish EXIT

# step NAME SECONDS COMMAND...
step() {
  echo
  echo "== $1"
  timeout "$2" "${@:3}" || { echo "FAILED ($?): ${*:3}"; failed=$((failed + 1)); }
}

# The folder if the model's file fits there, else the directory for temporary files.
room_for_model() {
  local place free
  for place in "$folder" "${TMPDIR:-/tmp}"; do
    free=$(df --output=avail -B1G "$place" 2>/dev/null | tail -1)
    if [ "${free:-0}" -gt "${gib%.*}" ]; then
      echo "$place"
      return 0
    fi
  done
  echo "neither $folder nor ${TMPDIR:-/tmp} has $gib GiB left" >&2
  return 1
}

wheel=$(find "$bin" -maxdepth 1 -name 'holdfast*.whl' | head -1)
if [ -n "$wheel" ]; then
  "$python" -m zipfile -e "$wheel" "$directory/python" || exit 1
  export PYTHONPATH="$directory/python:$here${PYTHONPATH:+:$PYTHONPATH}"
else
  export PYTHONPATH="$bin/python:$here${PYTHONPATH:+:$PYTHONPATH}"
fi
"$python" -c 'import holdfast' || { echo "no Python package in $bin"; exit 1; }

mkfifo "$directory/ready"
"$bin/holdfastd" --device="${DEVICE:-cuda}" --runtime-dir="$directory" --listen="unix:$directory/holdfast.sock" \
  --warm-executors=4 --ready-fd=3 3>"$directory/ready" >"$directory/log" 2>&1 &
daemon=$!
read -r HOLDFAST_ADDRESS _ <"$directory/ready" || { cat "$directory/log"; exit 1; }
export HOLDFAST_ADDRESS
"$bin/holdfast" devices || { cat "$directory/log"; exit 1; }

for show in ${SHOWS:-1 2 3}; do
  case $show in
    1)
      if place=$(room_for_model); then
        step "1. A model of $gib GiB, in $place" 540 "$python" "$here/../../client/python/bench/model.py" --gib "$gib" \
          --processes "$processes" --folder "$place" --cli "$bin/holdfast"
      else
        failed=$((failed + 1))
      fi
      ;;
    2) step "2. Two sessions in turns" 200 "$bin/holdfast" bench --only=sharing ;;
    3) step "3. Foreigners" 900 "$python" "$here/foreigners.py" "$HOLDFAST_ADDRESS" ;;
    *) echo "no show $show"; failed=$((failed + 1)) ;;
  esac
done
echo
if grep -E 'ERROR|FATAL' "$directory/log" | head -20; then :; fi
echo "$failed failed"
[ "$failed" -eq 0 ]
