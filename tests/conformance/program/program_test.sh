#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# program_test.sh PROGRAM LIBRARY EXPECTED: the program says what it says on a GPU.
set -euo pipefail
diff -u "$3" <("$1" "$2")
