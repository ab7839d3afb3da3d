// SPDX-License-Identifier: Apache-2.0
//
// Emits regions in which lanes diverge for only a few instructions, such as an
// `if` without a loop. Full code runs both sides under masks, and does not
// switch to masked code.
//
// This saves the switch to masked code and its frame in memory, and keeps
// uniform values uniform. Blocks of a region are in layout order and branch
// only forward (analysis::BranchRegion), so that each block runs at most once.
// Each block has a word on the stack. Branches before the block add the lanes
// that must run the block to the word. Code skips a block whose word is 0.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGION_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGION_EMITTER_H_

#include <map>

#include "core/software/jit/function_emitters.h"

namespace holdfast::software::jit {

class RegionEmitter {
 public:
  explicit RegionEmitter(FunctionEmitters& emitters)
      : e_(emitters), b_(emitters.context.b) {}

  // Emits the region after the branch at the end of block `k`. `taken` (i32) is
  // the mask of the lanes that take the branch. Returns the index of the block
  // at which all lanes meet, where control must continue.
  int Emit(size_t k, llvm::Value* taken) const;

 private:
  using TestedAddresses = std::map<uint32_t, TestedAddress>;

  void EmitBlock(size_t k, llvm::Value* running,
                 const RegionLanes& region) const;
  void Add(const RegionLanes& region, int target, llvm::Value* bits) const;
  void KeepTested(const TestedAddresses& before) const;

  FunctionEmitters& e_;
  Builder& b_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_REGION_EMITTER_H_
