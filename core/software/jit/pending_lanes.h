// SPDX-License-Identifier: Apache-2.0
//
// Which lanes have to run which block, in the warp's frame. Full code leaves it
// for masked code, which takes the lowest block that is pending.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_

#include "core/software/jit/emit_context.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class PendingLanes {
 public:
  explicit PendingLanes(const EmitContext& context)
      : c_(context), b_(context.b), runtime_(context) {}

  // Makes the lanes `bits` (i32) run block `target` later. At kExit they end;
  // the frame keeps account of that only if others may wait for them.
  void Add(int target, llvm::Value* bits) const;
  // Loads the lanes of block `k`.
  llvm::Value* Load(size_t k) const;
  void Clear(size_t k) const;
  // Loads the lanes that have not ended. Kept if lanes wait for each other.
  llvm::Value* LoadLive() const;
  // All lanes are alive, as full code has it.
  void SetAllLive() const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
