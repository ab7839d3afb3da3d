#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual is installed: a page for each program and each file, which name each other and the environment.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
pages=$(realpath "$(dirname "$(command -v holdfast)")/../share/man")
if grep -qsE '^path-exclude.*(/man|/usr/share/\*)' /etc/dpkg/dpkg.cfg.d/*; then
  echo "not run: this system installs no manual pages"
  exit 77
fi
for page in holdfast.1 holdfastd.8 holdfastd.toml.5 holdfast-policy.5; do
  zcat -f "$pages/man${page##*.}/$page"* >"$page" 2>/dev/null
  works "$page names others" grep -q '^\.SH SEE ALSO' "$page"
done
for page in holdfast.1 holdfastd.8; do works "$page has the environment" grep -q '^\.SH ENVIRONMENT' "$page"; done
works "a key of the configuration file" grep -q 'max.-sessions = ' holdfastd.toml.5
works "a key of the policy" grep -q 'device.-memory = ' holdfast-policy.5
finish
