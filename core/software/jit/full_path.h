// SPDX-License-Identifier: Apache-2.0
//
// Emits full code, in which all 32 lanes of a warp run the same instructions.
// Full code has one LLVM block for each block of the kernel. A branch whose
// guard varies goes to one side if the guard is equal in all lanes. Otherwise
// control leaves full code, or full code runs both sides under masks
// (RegionEmitter).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_H_

#include <vector>

#include "core/software/jit/control_flow.h"
#include "core/software/jit/full_path_exits.h"
#include "core/software/jit/region_emitter.h"

namespace holdfast::software::jit {

class FullPath : public ControlFlow {
 public:
  FullPath(FunctionEmitters& emitters, FullPathExits& exits)
      : e_(emitters),
        c_(emitters.context),
        b_(emitters.context.b),
        exits_(exits),
        regions_(emitters) {}

  // Makes an empty LLVM block for each block of the kernel.
  void CreateBlocks();
  // Emits the code of all blocks. REQUIRES: CreateBlocks was called.
  void EmitBlocks();
  llvm::BasicBlock* block(size_t k) const { return blocks_[k]; }

  ActiveLanes lanes() const override { return {}; }
  void Branch(const ptx::Instruction* instruction, size_t k,
              llvm::Value* rotate) override;
  // Emits a call of the runtime for all 32 lanes together; or an exit to masked
  // code if lanes may stay away or belong to several groups.
  void Converge(const Step& step) override;
  void EnterInFrontOf(const ptx::Instruction&) override {}

 private:
  void EmitScalarLoop(size_t k);
  void BranchVarying(const Value& guard, size_t k);
  void Diverge(size_t k, llvm::Value* taken);
  llvm::BasicBlock* TargetOf(int target) const;

  FunctionEmitters& e_;
  EmitContext& c_;
  Builder& b_;
  FullPathExits& exits_;
  const RegionEmitter regions_;
  std::vector<llvm::BasicBlock*> blocks_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_H_
