// SPDX-License-Identifier: Apache-2.0
//
// Emits the function that the runtime calls. It loops over blocks and warps,
// runs full code for each warp, and calls masked code.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_FUNCTION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_FUNCTION_H_

#include "core/software/jit/full_path.h"
#include "core/software/jit/full_path_return.h"
#include "core/software/jit/part.h"

namespace holdfast::software::jit {

class FullFunction {
 public:
  // `masked_type` is the type of the functions with masked code.
  FullFunction(const EmitContext& shared, llvm::FunctionType* masked_type);

  // Emits the function, with the full code and the calls of masked code.
  void Emit();
  // Sets the size of the frame. REQUIRES: full and masked code have reserved
  // their parts of the frame.
  void FinishFrame();

  const FullPathExits& exits() const { return exits_; }
  const MaskedPlan& plan() const { return plan_; }

 private:
  void EmitBlockLoop();
  llvm::PHINode* BeginBlock(llvm::Value* first, llvm::BasicBlock* before);
  void EmitWarpLoop(llvm::BasicBlock* behind);
  void EmitWarp();
  void EmitPartialWarp();
  void EmitMaskedCalls();
  llvm::Value* CallMasked(Part part);
  llvm::Value* FunctionOf(Part part);

  FunctionEmitters e_;
  EmitContext& c_;
  Builder& b_;
  FullPathExits exits_;
  FullPath path_;
  llvm::FunctionType* const masked_type_;
  MaskedPlan plan_;
  llvm::AllocaInst* frame_ = nullptr;
  llvm::CallInst* clear_ = nullptr;  // the call that clears the frame's fields
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_FUNCTION_H_
