#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# runtime_test.sh DRIVER TEST...: runs a test with a driver under the name by which the runtime loads it.
set -euo pipefail
directory=$(mktemp -d /tmp/holdfast-XXXXXX)
trap 'rm -rf "$directory"' EXIT
ln -s "$(realpath "$1")" "$directory/libcuda.so.1"
shift
LD_LIBRARY_PATH=$directory "$@"
