#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What kernels print, and what a failed assertion says.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
cat >p.cu <<'SOURCE'
extern "C" __global__ void forms() {
  printf("[%6s][%-6s][%.2s] %lld %#x %c %%\n", "ab", "ab", "abcd", -5LL, 255u, 'Q');
  printf("%4d|%04d|%+d|%.2f|%e\n", 7, 7, 7, 2.71828, 1500.0);
  printf("%*d|%-*d|\n", 5, 42, 5, 42);
  printf("%s|\n", (const char*)0);
}
extern "C" __global__ void each() { printf("block %d thread %d\n", blockIdx.x, threadIdx.x); }
extern "C" __global__ void positive(const int* x, int n) {
  int i = threadIdx.x;
  if (i < n)
    assert(x[i] > 0 && "only positive ones");
}
SOURCE
printed() { holdfast run p.cu --kernel "$@" 2>&1 | grep -vE '^(kernel|total) '; }
same "widths and precisions" "$(printed forms --grid 1 --block 1 | head -n 2 | tr '\n' '~')" "[    ab][ab    ][ab] -5 0xff Q %~   7|0007|+7|2.72|1.500000e+03~"
same "a width that is an argument" "$(printed forms --grid 1 --block 1 | sed -n 3p)" "   42|42   |"
same "a null string" "$(printed forms --grid 1 --block 1 | sed -n 4p)" "(null)|"
same "a line of each thread" "$(printed each --grid 3 --block 40 | grep -c '^block [0-2] thread [0-9]*$')" 120
"$PYTHON" -c 'import numpy; numpy.save("x.npy", numpy.array([3, 1, -4], "i4")); numpy.save("y.npy", numpy.array([3, 1, 4], "i4"))'
works "an assertion that holds" holdfast run p.cu --kernel positive --grid 1 --block 3 in:y.npy i32:3
works "-DNDEBUG" holdfast run p.cu --kernel positive --grid 1 --block 3 in:x.npy i32:3 -DNDEBUG
# shellcheck disable=SC2317  # the helpers call it
failed() { holdfast run p.cu --kernel positive --grid 1 --block 3 in:x.npy i32:3; }
refused "a failed assertion: its expression" 1 'only positive ones' failed
# CUDA tells the function's line or the next one.
refused "its file and line" 1 'p\.cu.{0,3}1[12]' failed
refused "its thread" 1 '\(2,0,0\)|thread: \[2,0,0\]' failed
finish
