// SPDX-License-Identifier: Apache-2.0
//
// Lanes that diverge for a few instructions, as for an `if` without a loop in
// it: full code runs both sides under masks, and stays full code.
//
// This saves the way through masked code and its frame in memory, and keeps
// uniform values uniform. Blocks of a region are in layout order and lead
// forward only (analysis::BranchRegion), so that each runs once: a word on the
// stack collects the lanes that have to run it, from the branches in front of
// it, and a block that no lane has to run is skipped.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGION_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGION_EMITTER_H_

#include <map>

#include "core/software/jit/function_emitters.h"

namespace holdfast::software::jit {

class RegionEmitter {
 public:
  explicit RegionEmitter(FunctionEmitters& emitters)
      : e_(emitters), b_(emitters.context.b) {}

  // Emits the region behind block `k`, of whose lanes `taken` (i32) take the
  // branch. Returns the block at which all lanes meet, where code goes on.
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
