// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/sanitizer_fiber.h"

#include <pthread.h>

namespace holdfast::software {

#if defined(HOLDFAST_ASAN)

SanitizerFiber NotesOfThread() {
  pthread_attr_t attributes;
  void* bottom = nullptr;
  size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  return {bottom, bytes, nullptr};
}

void AfterJump(const SanitizerFiber& to) {
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
  // The calls that were left by the jump.
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  const auto* bottom = static_cast<const char*>(to.bottom);
  __asan_unpoison_memory_region(bottom, here - bottom);
}

#endif

}  // namespace holdfast::software
