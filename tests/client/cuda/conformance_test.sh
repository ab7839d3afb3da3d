#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conformance_test.sh unix|tcp HOLDFASTD HOLDFAST DRIVER LIBCUDA CONFORMANCE NOT_SERVED: a conformance suite of the
# driver passes through a daemon, without the tests that NOT_SERVED lists.
set -euo pipefail
kind=$1 holdfastd=$2 holdfast=$3 not_served=$7
export HOLDFAST_SOFTWARE_DRIVER=$4 HOLDFAST_LIBCUDA=$PWD/$5
conformance=$6
# The paths of sockets are short.
directory=$(mktemp -d /tmp/holdfast-XXXXXX)
listen=unix:$directory/holdfast.sock
[ "$kind" = unix ] || listen=tcp:127.0.0.1:0
"$holdfastd" --device=cpu --listen="$listen" --runtime-dir="$directory" --cache-disk=0 --log-level=warning \
  --ready-fd=1 >"$directory/ready" &
daemon=$!
trap 'kill "$daemon"; wait "$daemon" || true; rm -rf "$directory"' EXIT
while [ ! -s "$directory/ready" ] && kill -0 "$daemon"; do sleep 0.1; done
address=$(grep -oE "$kind:[^ ]+" "$directory/ready" | head -n 1)
tests() { sed '/^#/d; /^$/d' "$1" | paste -sd :; }
filter=$(tests "$not_served")
by_tcp=${not_served%.txt}_by_tcp.txt
[ "$kind" = unix ] || [ ! -e "$by_tcp" ] || filter=$filter:$(tests "$by_tcp")
# The suite loads the library by its name, as a program does.
HOLDFAST_DRIVER_LIBRARY=libcuda.so.1 "$holdfast" exec --address="$address" -- "$conformance" --gtest_filter="-$filter"
