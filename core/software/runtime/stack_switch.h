// SPDX-License-Identifier: Apache-2.0
//
// Stacks of warps, and the switch from one stack to another.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_

#include <cstddef>

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
class Stack {
 public:
  // The size of the address range; only touched pages take memory. Generated
  // code spills registers to the stack, up to 2 MiB in CUB's largest kernels.
  static constexpr size_t kBytes = size_t{8} << 20;

  // `number` is the stack's index in its thread. It spreads the tops of the
  // thread's stacks over the sets of the cache. Check ok() before use.
  explicit Stack(size_t number);
  ~Stack();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;

  // Returns false if the system had no memory for the stack.
  bool ok() const { return base_ != nullptr; }
  // Returns a position at which SwitchStack calls function(argument). REQUIRES:
  // `function` never returns. Discards the stack's earlier contents.
  StackPosition Enter(void (*function)(void*), void* argument);

 private:
  char* base_ = nullptr;
  size_t offset_;  // of the top from the end
  [[no_unique_address]] SanitizerFiber notes_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
