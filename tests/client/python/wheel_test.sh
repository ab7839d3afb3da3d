#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One `pip install` of the full wheel, without a network, runs kernels: nothing in the environment
# tells of a daemon or a driver.
set -euo pipefail
wheel=$(realpath "$1")
example=$(realpath "$2")
work=$(mktemp -d /tmp/holdfast-wheel-XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work TMPDIR=$work
unset HOLDFAST_DAEMON HOLDFAST_SOFTWARE_DRIVER HOLDFAST_ADDRESS PYTHONPATH
cp "$wheel" holdfast-0.1.0-cp310-abi3-linux_x86_64.whl
/usr/bin/python3 -m venv --system-site-packages environment
environment/bin/pip install --quiet --no-index --no-deps holdfast-0.1.0-cp310-abi3-linux_x86_64.whl
environment/bin/python "$example" | tee output
grep -q "saxpy<double> is right" output
environment/bin/python -m holdfast version | grep -q 0.1.0
