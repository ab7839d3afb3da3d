// SPDX-License-Identifier: Apache-2.0
//
// Redirects the calls of memcpy and memmove in Holdfast's own code to
// memory.cc, which reports the accesses to ThreadSanitizer. Included before all
// other headers. ThreadSanitizer's own interceptors of these functions are off
// (defaults.cc): they would also report calls of the distribution's libraries,
// whose locks and queues ThreadSanitizer does not know.
#ifndef HOLDFAST_DEPLOY_BAZEL_TSAN_MEMORY_H_
#define HOLDFAST_DEPLOY_BAZEL_TSAN_MEMORY_H_

#include <stddef.h>

extern "C" {
void* memcpy(void* to, const void* from, size_t bytes) noexcept
    __asm__("holdfast_tsan_memcpy");
void* memmove(void* to, const void* from, size_t bytes) noexcept
    __asm__("holdfast_tsan_memmove");
}

#endif  // HOLDFAST_DEPLOY_BAZEL_TSAN_MEMORY_H_
