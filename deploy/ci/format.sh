#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format leaves it. Protocol files are not: their lines are as long as their comments need.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.cc' '*.h' | xargs -r clang-format --dry-run --Werror
