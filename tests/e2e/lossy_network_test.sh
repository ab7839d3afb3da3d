#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a test of remote clients, "$@", on a loopback of its own that loses one
# packet in a hundred, and delays and reorders others where the kernel has
# netem. Needs a user namespace with a network; without one, or without a way to
# lose packets, it says so and skips.
set -euo pipefail

skip() {
  echo "SKIPPED: $*"
  exit 0
}

if [[ "${1:-}" != --inside ]]; then
  reason=$(unshare --user --map-root-user --net true 2>&1) ||
    skip "no network namespace for this user: $reason"
  exec unshare --user --map-root-user --net "$0" --inside "$@"
fi
shift

ip link set lo up
if tc qdisc add dev lo root \
     netem delay 1ms 500us loss 1% reorder 25% 50% 2>/dev/null; then
  echo "netem: delay 1 ms, loss 1 %, reorder 25 %"
elif iptables -A INPUT -i lo -p tcp \
       -m statistic --mode random --probability 0.01 -j DROP 2>/dev/null; then
  echo "iptables: loss 1 %; this kernel has no netem"
else
  skip "neither tc's netem nor iptables' statistic works here"
fi
"$@"

if tc -s qdisc show dev lo | grep netem; then exit 0; fi
# A network that lost nothing tested nothing.
dropped=$(iptables -L INPUT -v -x -n | awk '/DROP/ {print $1; exit}')
echo "lost packets: $dropped"
[[ "$dropped" -gt 0 ]]
