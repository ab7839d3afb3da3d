#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ipc_test.sh HOLDFASTD HOLDFAST DRIVER LIBCUDA PROGRAM: two processes share memory in one daemon; see PROGRAM.
set -euo pipefail
export HOLDFAST_DAEMON=$PWD/$1 HOLDFAST_SOFTWARE_DRIVER=$PWD/$3 HOLDFAST_LIBCUDA=$PWD/$4
export XDG_CACHE_HOME=${TEST_TMPDIR:-/tmp}
"$2" exec --device=cpu -- python3 "$5"
