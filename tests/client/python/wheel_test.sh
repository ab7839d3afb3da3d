#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One `pip install` of the full wheel, without a network, runs kernels: nothing in the environment
# tells of a daemon or a driver. Where there is no CUDA, NVRTC comes from pip as well.
set -euo pipefail
wheel=$(realpath "$1")
example=$(realpath "$2")
work=$(mktemp -d /tmp/holdfast-wheel-XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work TMPDIR=$work
unset HOLDFAST_DAEMON HOLDFAST_SOFTWARE_DRIVER HOLDFAST_ADDRESS PYTHONPATH
named=holdfast-0.1.0-cp310-abi3-manylinux_2_31_x86_64.whl
cp "$wheel" "$named"
/usr/bin/python3 -m venv --system-site-packages environment
environment/bin/pip install --quiet --no-index --no-deps "$named"
environment/bin/python "$example" | tee output
grep -q "saxpy<double> is right" output
environment/bin/python -m holdfast --version | grep -q 0.1.0
environment/bin/holdfast --version | grep -q 0.1.0
# The daemon, with metrics and their libraries.
environment/bin/holdfastd --device=cpu --listen="unix:$work/daemon.sock" --runtime-dir="$work/run" \
  --metrics-address=127.0.0.1:0 --ready-fd=3 3>ready 2>log &
daemon=$!
until [ -s ready ] || ! kill -0 "$daemon"; do sleep 0.1; done
grep -q "http://127.0.0.1:.*/metrics" ready || cat log >&2
environment/bin/python - "$(grep -o 'http://[^ ]*' ready)" <<'SCRIPT'
import sys, urllib.request
assert b"holdfast_build_info" in urllib.request.urlopen(sys.argv[1]).read()
SCRIPT
kill "$daemon" && wait "$daemon"
# What an index shows.
environment/bin/pip show --verbose holdfast >shown
grep -q "^License: Apache-2.0" shown && grep -q "Typing :: Typed" shown

if ! unshare --map-root-user --mount true; then
  echo "not tested without CUDA: no namespaces are to be had here" >&2
  exit 0
fi
# A machine without CUDA is this one, with the toolkit's folders hidden. The package that has NVRTC
# for CUDA 13 is not to be had without a network: its files are put where it puts them.
library=$(realpath "${CUDA_HOME:-/usr/local/cuda}"/lib*/libnvrtc.so.13 | head -n 1)
site=$(environment/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
without_cuda() {
  # shellcheck disable=SC2016
  unshare --map-root-user --mount -- bash -euc '
    unset CUDA_HOME LD_LIBRARY_PATH
    for folder in /usr/local/cuda*; do
      [ -L "$folder" ] || mount -t tmpfs none "$folder"
    done
    exec "$@"' - "$@"
}
if without_cuda environment/bin/python "$example" 2>errors; then exit 1; fi
grep -q "pip install 'holdfast\[cu13\]'" errors
mkdir -p "$site/nvidia/cu13/lib"
cp "$library" "$site/nvidia/cu13/lib/libnvrtc.so.13"
cp "$(dirname "$library")"/libnvrtc-builtins.so.13.* "$site/nvidia/cu13/lib"
without_cuda environment/bin/python "$example" | tee output
grep -q "saxpy<double> is right" output
