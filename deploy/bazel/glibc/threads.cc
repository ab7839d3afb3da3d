// SPDX-License-Identifier: Apache-2.0
//
// A variable of glibc 2.32: while it is not 0, the process has one thread, and
// the C++ library leaves locks out. Here it is always 0, so the library locks.
#include "deploy/bazel/glibc/hidden.h"

extern "C" {
// <sys/single_threaded.h> declares this variable.
HOLDFAST_OLDER char __libc_single_threaded = 0;
}
