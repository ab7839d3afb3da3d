// SPDX-License-Identifier: Apache-2.0
//
// Emits accesses to the words of pending lanes in the warp's frame. Each basic
// block has a word, the mask of the lanes that still have to run the block.
// Full code sets the masks for masked code, which always runs the lowest
// pending block next.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_

#include "core/software/jit/emit_context.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class PendingLanes {
 public:
  explicit PendingLanes(const EmitContext& context)
      : c_(context), b_(context.b), runtime_(context) {}

  // Emits code that adds the lanes `bits` (i32) to the word of block `target`.
  // For lower::kExit, the code marks the lanes as ended, but only if lanes of
  // the kernel may wait for each other.
  void Add(int target, llvm::Value* bits) const;
  // Emit code that loads or clears the word of block `k`.
  llvm::Value* Load(size_t k) const;
  void Clear(size_t k) const;
  // Emits a load of the lanes that have not ended (i32). REQUIRES: lanes of the
  // kernel may wait for each other.
  llvm::Value* LoadLive() const;
  // Emits a store which says that no lane has ended. This is so in full code.
  void SetAllLive() const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
