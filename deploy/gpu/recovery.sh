#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from a folder of binaries: faults and restarts, measured.
#
#   1  a session of 1, 8 and 64 GiB takes illegal addresses; the rate of a neighbour beside it
#   2  a thousand mixed faults over eight sessions, and what is left behind
#   3  upgrades under a million launches; a daemon killed under its keeper, with 8 GiB and a collection
#   4  a remote client whose connections are cut for a minute
#   5  upgrades alone, a minute: the longest pause of four clients that launch, and where it went
#
# Usage: recovery.sh BINDIR [SHOW...]     (default: 3 4 1 2; the second takes some six minutes)
# BINDIR has holdfastd, holdfast, recovery_rounds, fault_storm_test, upgrade_test, keeper_test and attach_test; a show
# that does not use one does without it: 5 needs holdfastd, holdfast and upgrade_test.
# DEVICE=cpu, GIBIBYTES="...", FAULTS, LAUNCHES, MEGABYTES and SECONDS_CUT make smaller ones, to try the script.
# Exits 0 only if every byte and every count was right.
set -uo pipefail
bin=$(cd "$1" && pwd) || exit 2
shift
shows=("$@")
[ ${#shows[@]} -gt 0 ] || shows=(3 4 1 2)
device=${DEVICE:-cuda}
for number in ${GIBIBYTES:-}; do
  [[ $number =~ ^[0-9]+$ ]] || { echo "GIBIBYTES: whole numbers, not $number" >&2; exit 2; }
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/lib64"
export HOLDFAST_DAEMON=$bin/holdfastd HOLDFAST_CLI=$bin/holdfast HOLDFAST_TEST_DEVICE=$device
[ "$device" = cpu ] || export HOLDFAST_SOFTWARE_DRIVER=
unset HOLDFAST_ADDRESS
directory=$(mktemp -d)
daemon=
failed=0

stop() {
  [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; }
  daemon=
}
trap 'stop; rm -rf "$directory"' EXIT

# run NAME COMMAND...: its output, indented, and its outcome.
run() {
  local name=$1 began=$SECONDS
  shift
  echo "-- $name"
  "$@" 2>&1 | sed 's/^/   /'
  local rc=${PIPESTATUS[0]}
  echo "   exit status $rc, $((SECONDS - began)) s"
  [ "$rc" -eq 0 ] || failed=$((failed + 1))
}

# run_test NAME BINARY TEST: that test alone. GoogleTest takes a filter that matches nothing for a success.
run_test() {
  if ! "$2" --gtest_list_tests --gtest_filter="$3" 2>/dev/null | grep -q '^  '; then
    echo "-- $1"
    echo "   there is no test $3 in $2"
    failed=$((failed + 1))
    return
  fi
  run "$1" "$2" --gtest_brief=1 --gtest_filter="$3"
}

device_memory() {
  command -v nvidia-smi >/dev/null &&
    nvidia-smi --query-gpu=memory.used --format=csv,noheader | sed "s/^/   device memory in use $1: /"
}

show_1() {
  local own=$directory/recovery_rounds
  mkdir "$own" && mkfifo "$own/ready"
  "$bin/holdfastd" --device="$device" --runtime-dir="$own" --listen="unix:$own/holdfast.sock" --warm-executors=4 \
    --ready-fd=3 3>"$own/ready" >"$own/log" 2>&1 &
  daemon=$!
  local address
  read -r address _ <"$own/ready" || { cat "$own/log"; failed=$((failed + 1)); return; }
  for gibibytes in ${GIBIBYTES:-1 8 64}; do
    local lines
    lines=$(wc -l <"$own/log")
    run "$gibibytes GiB in 40 buffers, 10 modules, 6 streams, 2 graphs" "$bin/recovery_rounds" --address="$address" \
      --megabytes="$((gibibytes * 1024))" --buffers=40 --modules=10 --streams=6 --graphs=2 --faults=3 --pause=1.7 --neighbour
    tail -n "+$((lines + 1))" "$own/log" | grep -o 'recovered in [^,]*' | sed 's/^/   from the report to ready: /'
  done
  stop
}

show_2() {
  device_memory before || true
  HOLDFAST_STORM_FAULTS=${FAULTS:-1000} run "faults" "$bin/fault_storm_test" --gtest_brief=1
  sleep 2  # a context takes a moment to end
  device_memory after || true
}

show_3() {
  HOLDFAST_UPGRADE_LAUNCHES=${LAUNCHES:-1000000} run_test "upgrades under launches of four clients" "$bin/upgrade_test" \
    UpgradeTest.FourClientsThatLaunchAllTheTimeLoseNothing
  HOLDFAST_RESTART_MEGABYTES=${MEGABYTES:-8192} run_test "kill -9 under the keeper" "$bin/keeper_test" \
    KeeperTest.EveryByteOfASessionAndACollectionOutlivesAKill
}

show_4() {
  HOLDFAST_CUT_SECONDS=${SECONDS_CUT:-60} run_test "connections cut every 50 to 200 ms" "$bin/attach_test" \
    AttachTest.CutConnectionsLoseNoCommandAndRunNoneTwice
}

# The daemon's own words: how many executors were ready ahead, how long each session was away.
show_5() {
  local out=$directory/upgrades
  for round in 1 2 3; do
    HOLDFAST_TEST_LOG_LEVEL=info HOLDFAST_UPGRADE_LAUNCHES=${LAUNCHES:-40000} run_test "upgrades, round $round" "$bin/upgrade_test" \
      UpgradeTest.FourClientsThatLaunchAllTheTimeLoseNothing >"$out"
    grep -E 'next daemon|making way|daemon before|listening on|resumed in|longest pause|exit status|rror|ailure|there is no' "$out"
  done
}

command -v nvidia-smi >/dev/null && nvidia-smi -L
for show in "${shows[@]}"; do
  echo "== show $show"
  "show_$show" || failed=$((failed + 1))
done
echo
echo "$failed failed"
[ "$failed" -eq 0 ]
