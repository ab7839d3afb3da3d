// SPDX-License-Identifier: Apache-2.0
//
// Included before everything else in Holdfast's own code: its calls of memcpy
// and memmove go to memory.cc, which ThreadSanitizer sees. By itself it cannot
// tell them from those of the distribution's libraries, whose locks and queues
// it does not know, and so looks at none (defaults.cc).
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
