// SPDX-License-Identifier: Apache-2.0
//
// A variable of glibc 2.32's, by which the C++ library leaves locks out of a
// process with one thread. Without it, it locks.
#include "deploy/bazel/glibc/hidden.h"

extern "C" {
// <sys/single_threaded.h> declares this variable.
HOLDFAST_OLDER char __libc_single_threaded = 0;
}
