// SPDX-License-Identifier: Apache-2.0
//
// The stacks of warps, and the switch from one stack to another.
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

// The point at which code left a stack, or at which code on the stack will
// begin. A position is valid until the stack continues from this point.
struct StackPosition {
  void* pointer = nullptr;
  [[no_unique_address]] SanitizerFiber notes;
};

// Leaves the running stack, stores its position in *from, and continues at
// `to`. Returns when another call of SwitchStack on the same thread switches to
// *from. Code that begins on a new stack must first call AfterSwitch(to.notes).
inline void SwitchStack(StackPosition* from, const StackPosition& to) {
  BeforeSwitch(&from->notes, to.notes);
  holdfast_switch_stack(&from->pointer, to.pointer);
  AfterSwitch(from->notes);
}

// The memory of a stack, with a guard page below. Move-constructible.
//
// At first, only the last pages of a stack are accessible. The stack grows when
// code faults below these pages (Grow). The reason is that limits on the memory
// of a process (RLIMIT_DATA) count accessible pages, touched or not, and a
// program with many streams has thousands of stacks.
class Stack {
 public:
  // The size of the address range. Generated code spills registers to the
  // stack, up to 2 MiB in CUB's largest kernels.
  static constexpr size_t kBytes = size_t{8} << 20;
  // The bytes that are accessible at first, and the least number of bytes by
  // which a stack grows. Few kernels use more.
  static constexpr size_t kFirstBytes = size_t{64} << 10;
  // The largest number of stacks of a process. Each stack takes two of the
  // 65530 mappings that Linux allows a process (vm.max_map_count).
  static constexpr int kMost = 1 << 14;

  // `number` is the index of the stack among the stacks of its thread. It
  // determines an offset, so that the tops of the thread's stacks use different
  // sets of the CPU's cache. Check ok() before use.
  explicit Stack(size_t number);
  ~Stack();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;

  // Returns false if the system had no memory for the stack, or if the process
  // has kMost stacks.
  bool ok() const { return base_ != nullptr; }
  // Returns a position from which SwitchStack calls function(argument) on this
  // stack. Discards the stack's earlier contents. REQUIRES: `function` never
  // returns.
  StackPosition Enter(void (*function)(void*), void* argument);

  // Makes the stack accessible from some bytes below `address` to its end.
  // Returns false if `address` is not in the inaccessible part of the stack, or
  // if the system has no memory. A signal handler may call Grow.
  bool Grow(uintptr_t address);

 private:
  char* base_ = nullptr;  // the start of the guard page
  char* open_ = nullptr;  // the first accessible byte
  size_t offset_;         // the distance of the top from the end, in bytes
  [[no_unique_address]] SanitizerFiber notes_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
