#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format leaves it. Protocol files are not: their lines are as long as their comments need.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"
git ls-files '*.cc' '*.h' | xargs -r clang-format --dry-run --Werror || {
  echo "To mend a file: clang-format -i FILE" >&2
  exit 1
}
