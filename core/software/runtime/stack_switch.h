// SPDX-License-Identifier: Apache-2.0
//
// Stacks of warps, and how control goes from one to the next.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_

#include <cstddef>

#include "core/software/runtime/sanitizer_fiber.h"

namespace holdfast::software {

// Saves the registers that a function must keep on the running stack, stores
// its pointer in *from, and goes on where `to` was left. Vector control state
// is not touched: it is the same for all kernels. Costs six registers each way.
extern "C" void holdfast_switch_stack(void** from, void* to);

// Where a stack was left, or is to begin. A value; valid until the stack goes
// on from there.
struct StackPosition {
  void* pointer = nullptr;
  [[no_unique_address]] SanitizerFiber notes;
};

// Leaves the running stack at *from and goes on where `to` was left. Code
// that begins on a new stack calls AfterSwitch(to.notes) first. Returns when
// something switches to *from again.
inline void SwitchStack(StackPosition* from, const StackPosition& to) {
  BeforeSwitch(&from->notes, to.notes);
  holdfast_switch_stack(&from->pointer, to.pointer);
  AfterSwitch(from->notes);
}

// Memory with a guard page below. Move-only. Takes 8 MiB of addresses.
class Stack {
 public:
  // Address space; pages count once touched. Generated code keeps what does
  // not fit into registers here: 2 MiB of CUB's largest kernels.
  static constexpr size_t kBytes = size_t{8} << 20;

  // `number` spreads the tops of a thread's stacks over the sets of the cache.
  // Check ok() before use.
  explicit Stack(size_t number);
  ~Stack();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;

  // False: the system has no memory for it.
  bool ok() const { return base_ != nullptr; }
  // For SwitchStack, which then enters function(argument); that must not
  // return. The code that ran on the stack before is forgotten.
  StackPosition Enter(void (*function)(void*), void* argument);

 private:
  char* base_ = nullptr;
  size_t offset_;  // of the top from the end
  [[no_unique_address]] SanitizerFiber notes_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_STACK_SWITCH_H_
