// SPDX-License-Identifier: Apache-2.0
//
// Tells the sanitizers of stacks that take turns on one thread, and of jumps
// from one to another. Does nothing in ordinary builds.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_SANITIZER_FIBER_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_SANITIZER_FIBER_H_

#include <cstddef>

#include "core/base/sanitizer.h"

#if defined(HOLDFAST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(HOLDFAST_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast::software {

#if defined(HOLDFAST_ASAN)

// AddressSanitizer has to know where the running stack lies, and forget what
// was on a stack that is used anew. The stack that the sanitizer is told of,
// and its own notes.
struct SanitizerFiber {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fake_stack = nullptr;
};

// Returns the notes of the thread's own stack. REQUIRES: it is the running one.
SanitizerFiber NotesOfThread();

// Returns notes for a stack that code begins on. Its old notes are used up.
inline SanitizerFiber NotesOfNewStack(const void* bottom, size_t bytes,
                                      SanitizerFiber) {
  __asan_unpoison_memory_region(bottom, bytes);
  return {bottom, bytes, nullptr};
}
// Releases notes of a stack that ends.
inline void EndNotes(SanitizerFiber) {}

// Around a switch, on the old stack and on the new one. BeforeSwitch is the
// last call on the old stack, AfterSwitch the first on the new one.
inline void BeforeSwitch(SanitizerFiber* from, const SanitizerFiber& to) {
  __sanitizer_start_switch_fiber(&from->fake_stack, to.bottom, to.bytes);
}
inline void AfterSwitch(const SanitizerFiber& to) {
  __sanitizer_finish_switch_fiber(to.fake_stack, nullptr, nullptr);
}

// Around a longjmp to the thread's own stack. For sigsetjmp.
inline constexpr int kJumpsSaveSignals = 0;
inline void BeforeJump(const SanitizerFiber&) {}
void AfterJump(const SanitizerFiber& to);

#elif defined(HOLDFAST_TSAN)

// ThreadSanitizer keeps the calls that a stack is in, for each of them.
struct SanitizerFiber {
  void* fiber = nullptr;
};

inline SanitizerFiber NotesOfThread() { return {__tsan_get_current_fiber()}; }

inline void EndNotes(SanitizerFiber notes) {
  if (notes.fiber != nullptr) __tsan_destroy_fiber(notes.fiber);
}
inline SanitizerFiber NotesOfNewStack(const void*, size_t, SanitizerFiber old) {
  EndNotes(old);
  return {__tsan_create_fiber(0)};
}

inline void BeforeSwitch(SanitizerFiber*, const SanitizerFiber& to) {
  __tsan_switch_to_fiber(to.fiber, 0);
}
inline void AfterSwitch(const SanitizerFiber&) {}

// It has blocked all signals in handlers.
inline constexpr int kJumpsSaveSignals = 1;
inline void BeforeJump(const SanitizerFiber& to) {
  if (__tsan_get_current_fiber() != to.fiber) BeforeSwitch(nullptr, to);
}
inline void AfterJump(const SanitizerFiber&) {}

#else

struct SanitizerFiber {};

inline SanitizerFiber NotesOfThread() { return {}; }
inline SanitizerFiber NotesOfNewStack(const void*, size_t, SanitizerFiber) {
  return {};
}
inline void EndNotes(SanitizerFiber) {}
inline void BeforeSwitch(SanitizerFiber*, const SanitizerFiber&) {}
inline void AfterSwitch(const SanitizerFiber&) {}
inline constexpr int kJumpsSaveSignals = 0;
inline void BeforeJump(const SanitizerFiber&) {}
inline void AfterJump(const SanitizerFiber&) {}

#endif

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_SANITIZER_FIBER_H_
