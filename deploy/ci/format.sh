#!/usr/bin/env bash
# Every C++ and protocol file is as clang-format leaves it.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.cc' '*.h' | xargs -r clang-format --dry-run --Werror
