// SPDX-License-Identifier: Apache-2.0
//
// The registers at the seams between masked and full code.
//
// The way back to full code is taken at a block where all 32 lanes meet again,
// if their values still have the shapes that full code takes for granted: a
// register that is uniform there must be equal in all lanes. Masked code tests
// that, returns the number of the block, and full code loads its registers.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_RETURN_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_RETURN_H_

#include <set>

#include "core/software/jit/registers.h"

namespace holdfast::software::jit {

class FullPathReturn {
 public:
  FullPathReturn(const EmitContext& context, Registers& registers,
                 BlockNotes& notes)
      : c_(context),
        b_(context.b),
        v_(context.b),
        registers_(registers),
        notes_(notes) {}

  // At the start of masked code: expands the registers that exits of full code
  // have left, whichever exit it came from.
  void LoadLiveOuts(const std::set<uint32_t>& live_outs) const;
  // At block `k` of masked code: returns to full code if all lanes are in it,
  // with values that fit.
  void ReturnIfAllMeet(size_t k, const ActiveLanes& lanes) const;
  // Full code: loads the registers of block `k`, with the shapes that
  // ReturnIfAllMeet has tested.
  void Reload(size_t k) const;

 private:
  llvm::Value* Fits(uint32_t index) const;
  llvm::Value* ChunksFit(const Value& value,
                         const analysis::LaneShape& shape) const;
  Value InFullShape(const Value& value, const analysis::LaneShape& shape) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  Registers& registers_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_RETURN_H_
