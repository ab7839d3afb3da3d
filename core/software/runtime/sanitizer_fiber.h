// SPDX-License-Identifier: Apache-2.0
//
// Reports to AddressSanitizer and ThreadSanitizer which stacks one thread uses,
// when the thread switches from one stack to another, and when it jumps from
// one stack to another. Does nothing in ordinary builds.
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

// The notes for a stack: its bounds, and AddressSanitizer's fake stack for it.
// The sanitizer must know the bounds of the running stack, and must forget the
// earlier contents of a stack that is reused.
struct SanitizerFiber {
  const void* bottom = nullptr;
  size_t bytes = 0;
  void* fake_stack = nullptr;
};

// Returns the notes for the calling thread's own stack. REQUIRES: the thread
// runs on its own stack.
SanitizerFiber NotesOfThread();

// Returns notes for a stack on which code begins. The last parameter has the
// earlier notes for the stack, which must not be used again.
inline SanitizerFiber NotesOfNewStack(const void* bottom, size_t bytes,
                                      SanitizerFiber) {
  __asan_unpoison_memory_region(bottom, bytes);
  return {bottom, bytes, nullptr};
}
// Releases the notes for a stack that ends.
inline void EndNotes(SanitizerFiber) {}

// BeforeSwitch must be the last call on the old stack before a switch, and
// AfterSwitch the first call on the new stack.
inline void BeforeSwitch(SanitizerFiber* from, const SanitizerFiber& to) {
  __sanitizer_start_switch_fiber(&from->fake_stack, to.bottom, to.bytes);
}
inline void AfterSwitch(const SanitizerFiber& to) {
  __sanitizer_finish_switch_fiber(to.fake_stack, nullptr, nullptr);
}

// BeforeJump must be the last call before a longjmp to the thread's own stack,
// and AfterJump the first call after the longjmp. kJumpsSaveSignals is the
// second argument for sigsetjmp.
inline constexpr int kJumpsSaveSignals = 0;
inline void BeforeJump(const SanitizerFiber&) {}
void AfterJump(const SanitizerFiber& to);

#elif defined(HOLDFAST_TSAN)

// The notes for a stack: the fiber that ThreadSanitizer has for it, with a call
// stack of its own.
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

// A jump must restore the signal mask, because ThreadSanitizer blocks all
// signals while a signal handler runs.
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
