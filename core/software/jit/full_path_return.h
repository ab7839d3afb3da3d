// SPDX-License-Identifier: Apache-2.0
//
// Emits code that passes registers between full code and masked code.
//
// Masked code returns to full code at a block that all 32 lanes run together,
// if each live register has the shape that full code assumes. For example, a
// register that is uniform in full code must be equal in all lanes. Masked code
// tests this, and returns the number of the block. Full code then loads the
// registers, and continues at the block.
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

  // Emits the start of masked code, which converts the registers that exits of
  // full code have stored to their shapes in masked code. `live_outs` are the
  // registers of all exits. Masked code does not read the registers that the
  // taken exit did not store.
  void LoadLiveOuts(const std::set<uint32_t>& live_outs) const;
  // Emits, at the start of block `k` of masked code, a return to full code that
  // is taken if all lanes run the block and the live registers have their
  // shapes of full code.
  void ReturnIfAllMeet(size_t k, const ActiveLanes& lanes) const;
  // Emits, in full code, loads of the live registers of block `k`, in the
  // shapes that ReturnIfAllMeet has tested.
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
