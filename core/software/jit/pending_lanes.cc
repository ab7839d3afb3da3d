// SPDX-License-Identifier: Apache-2.0
//
// Each word is loaded, changed and stored at once. LLVM keeps none in registers
// between blocks, since masked code can go from any block to any other.
#include "core/software/jit/pending_lanes.h"

namespace holdfast::software::jit {

void PendingLanes::Add(int target, llvm::Value* bits) const {
  if (target == lower::kExit) {
    if (!c_.facts.lanes_wait) return;
    llvm::Value* live = c_.Slot(c_.layout.Live());
    b_.CreateStore(b_.CreateAnd(b_.LoadI32(live), b_.CreateNot(bits)), live);
    if (!c_.facts.warps_wait) return;
    runtime_.Call("holdfast_lanes_ended", b_.getVoidTy(), {bits});
    return;
  }
  llvm::Value* pending = c_.Slot(c_.layout.Pending(target));
  b_.CreateStore(b_.CreateOr(b_.LoadI32(pending), bits), pending);
}

llvm::Value* PendingLanes::Load(size_t k) const {
  return b_.LoadI32(c_.Slot(c_.layout.Pending(k)));
}

void PendingLanes::Clear(size_t k) const {
  b_.CreateStore(b_.I32(0), c_.Slot(c_.layout.Pending(k)));
}

llvm::Value* PendingLanes::LoadLive() const {
  return b_.LoadI32(c_.Slot(c_.layout.Live()));
}

void PendingLanes::SetAllLive() const {
  if (!c_.facts.lanes_wait) return;
  b_.CreateStore(b_.I32(kAllLanes), c_.Slot(c_.layout.Live()));
}

}  // namespace holdfast::software::jit
