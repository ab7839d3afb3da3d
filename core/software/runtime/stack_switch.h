// SPDX-License-Identifier: Apache-2.0
//
// Stacks of warps, and the switch from one stack to another.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_

#include <cstddef>
#include <cstdint>

#include "core/software/runtime/sanitizer_fiber.h"

namespace holdfast::software {

// Pushes the six callee-saved registers on the running stack, stores the stack
// pointer in *from, and continues on the stack `to` where it was left. Does not
// save vector control state, which is the same for all kernels.
extern "C" void holdfast_switch_stack(void** from, void* to);

// The point at which a stack was left or will begin. A value; valid until the
// stack continues from this point.
struct StackPosition {
  void* pointer = nullptr;
  [[no_unique_address]] SanitizerFiber notes;
};

// Leaves the running stack, stores its position in *from, and continues at
// `to`. Returns when another call switches to *from. Code that begins on a new
// stack calls AfterSwitch(to.notes) first.
inline void SwitchStack(StackPosition* from, const StackPosition& to) {
  BeforeSwitch(&from->notes, to.notes);
  holdfast_switch_stack(&from->pointer, to.pointer);
  AfterSwitch(from->notes);
}

// The memory of a stack, with a guard page below. Move-constructible.
//
// A stack begins with its last pages and grows when code faults below them
// (Grow): limits on the memory of a process (RLIMIT_DATA) count accessible
// pages, touched or not, and a program with many streams has thousands of
// stacks.
class Stack {
 public:
  // The size of the address range. Generated code spills registers to the
  // stack, up to 2 MiB in CUB's largest kernels.
  static constexpr size_t kBytes = size_t{8} << 20;
  // The part that is accessible from the beginning, and the least part by which
  // a stack grows. Few kernels use more.
  static constexpr size_t kFirstBytes = size_t{64} << 10;
  // The stacks that a process can have: each takes two of the 65530 mappings
  // that Linux allows a process (vm.max_map_count).
  static constexpr int kMost = 1 << 14;

  // `number` is the stack's index in its thread. It spreads the tops of the
  // thread's stacks over the sets of the cache. Check ok() before use.
  explicit Stack(size_t number);
  ~Stack();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;

  // Returns false if the system had no memory for the stack, or if the process
  // has kMost stacks.
  bool ok() const { return base_ != nullptr; }
  // Returns a position at which SwitchStack calls function(argument). REQUIRES:
  // `function` never returns. Discards the stack's earlier contents.
  StackPosition Enter(void (*function)(void*), void* argument);

  // Makes the stack accessible from `address` to its end, and some bytes below.
  // Returns false if the address is not in the part that was inaccessible, or
  // if the system has no memory. A signal handler may call it.
  bool Grow(uintptr_t address);

 private:
  char* base_ = nullptr;  // of the guard page
  char* open_ = nullptr;  // accessible from here to the end
  size_t offset_;         // of the top from the end
  [[no_unique_address]] SanitizerFiber notes_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
