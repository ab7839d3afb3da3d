// SPDX-License-Identifier: Apache-2.0
//
// HOLDFAST_OLDER marks what this folder defines under names of glibc and of the
// C++ library. Each program and library has its own copy, which is hidden from
// other libraries. Only libhf_c.so, which lies beside libraries of the
// distribution, exports these names.
#ifndef DEPLOY_BAZEL_GLIBC_HIDDEN_H_
#define DEPLOY_BAZEL_GLIBC_HIDDEN_H_

#ifdef HOLDFAST_OLDER_SHOWN
#define HOLDFAST_OLDER __attribute__((visibility("default")))
#else
#define HOLDFAST_OLDER __attribute__((visibility("hidden")))
#endif

#endif  // DEPLOY_BAZEL_GLIBC_HIDDEN_H_
