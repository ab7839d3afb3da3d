#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from carried files: the programs of tests/acceptance against the wheel in a virtual
# environment and the bundle, beside cuda.core itself and with CuPy, PyTorch and Triton, where they are
# installed. Needs Python with NumPy and venv, and the CUDA toolkit; no network, Bazel or gRPC. Prints one table.
#
# Usage: acceptance.sh FOLDER [OPTION...]     options of tests/acceptance/run, such as --filter='beside/*'
# FOLDER has holdfast*.tar.gz of the bundle (or bin/ and lib/), one holdfast*.whl or full.whl, and
# tests/acceptance as acceptance/. PYTHON=python3 names the Python that has the other libraries; USERS="root nobody"
# whose programs run, if root runs this.
set -uo pipefail
folder=$(cd "${1:?usage: acceptance.sh FOLDER [OPTION...]}" && pwd) || exit 2
shift
python=$(command -v "${PYTHON:-python3}") || exit 2
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
wheel=
for file in "$folder"/*.whl; do [ ! -f "$file" ] || wheel=$file; done
[ -n "$wheel" ] || { echo "$folder has no wheel" >&2; exit 2; }

options=(--wheel="$wheel" --bundle="$folder" --python="$python" --device="${DEVICE:-auto}")
for user in ${USERS:-}; do options+=(--user="$user"); done
for library in cuda.core cupy torch triton; do
  if version=$("$python" -c "import $library; print(getattr($library, '__version__', 'of an unknown version'))" 2>/dev/null); then
    echo "$library $version"
    [ "$library" != cuda.core ] || options+=(--peer)
  else
    echo "$library is not here"
  fi
done
command -v nvidia-smi >/dev/null && nvidia-smi -L
"$python" "$folder/acceptance/run" "${options[@]}" "$@"
