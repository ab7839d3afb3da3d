#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Has clangd, of Clang 14 and later, read the tree's C++: builds generated headers and writes compile_flags.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/setup/cxx_flags.sh
. deploy/setup/cxx_flags.sh
build_generated_headers
printf '%s\n' "${cxx_flags[@]}" >compile_flags.txt
