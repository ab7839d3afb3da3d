// SPDX-License-Identifier: Apache-2.0
//
// Emits accesses to the pending lanes in the warp's frame: for each basic
// block, the mask of the lanes that still have to run it. Full code sets the
// masks for masked code, which runs the lowest pending block next.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_

#include "core/software/jit/emit_context.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class PendingLanes {
 public:
  explicit PendingLanes(const EmitContext& context)
      : c_(context), b_(context.b), runtime_(context) {}

  // Adds the lanes `bits` (i32) to those of block `target`. For kExit, marks
  // the lanes as ended; this is recorded only if other lanes may wait for them.
  void Add(int target, llvm::Value* bits) const;
  // Load or clear the pending lanes of block `k`.
  llvm::Value* Load(size_t k) const;
  void Clear(size_t k) const;
  // Loads the lanes that have not ended. REQUIRES: lanes of the kernel may wait
  // for each other.
  llvm::Value* LoadLive() const;
  // Records that no lane has ended, as in full code.
  void SetAllLive() const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PENDING_LANES_H_
