// SPDX-License-Identifier: Apache-2.0
//
// Emits masked code, which can run any subset of a warp's lanes.
//
// The word `exec` has the running lanes. Each block has a word of pending lanes
// in the frame: the lanes that still have to run the block. A branch adds its
// lanes to the words of its targets. A chain of dispatch blocks then finds the
// first block with pending lanes. Blocks are in layout order, so that lanes
// that are behind run first, and lanes meet at the joins of ifs and at the ends
// of loops.
//
// Lanes that wait at a convergence point are parked there until no block of the
// warp is pending (EmitIdle).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MASKED_PATH_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MASKED_PATH_H_

#include <map>
#include <vector>

#include "core/software/jit/control_flow.h"
#include "core/software/jit/full_path_exits.h"
#include "core/software/jit/full_path_return.h"

namespace holdfast::software::jit {

class ScalarLoopPath;

class MaskedPath : public ControlFlow {
 public:
  // needed[k]: masked code contains block k. `exits` and `plan` belong to the
  // full code that calls this masked code. All references must outlive this
  // object.
  MaskedPath(FunctionEmitters& emitters, const FullPathExits& exits,
             const MaskedPlan& plan, std::vector<bool> needed);

  // Makes the word of running lanes and the empty LLVM blocks. Called first.
  void CreateBlocks();
  // Emits the code of all blocks, including scalar loops.
  void EmitBlocks(const FullPathReturn& full_path);
  // Returns the block at which an entry from full code begins.
  llvm::BasicBlock* EntryOf(int entry) const;
  // Returns the dispatch block that looks for pending lanes from block `k` on.
  llvm::BasicBlock* DispatchFrom(size_t k) const;

  ActiveLanes lanes() const override { return {.exec = exec_}; }
  void Branch(const ptx::Instruction* instruction, size_t k,
              llvm::Value* rotate) override;
  void Converge(const Step& step) override;
  void EnterInFrontOf(const ptx::Instruction& instruction) override;

 private:
  // The addresses of the fields of the frame for the lanes that wait at a
  // convergence point. All fields are i32.
  struct Parked {
    llvm::Value* lanes;
    llvm::Value* barrier;
    // The round for which the lanes wait. At a point of the warp, not 0 means
    // that the lanes wait no longer.
    llvm::Value* round;
  };

  // Lanes that meet at a convergence point of the warp.
  struct Group {
    llvm::Value* lanes;  // i32
    llvm::Value* whole;  // i1: all live lanes of the group have arrived
  };

  void ConvergeWarp(const Step& step);
  void ConvergeBlock(const Step& step);
  Group GroupOf(const Step& step, llvm::Value* all) const;
  llvm::Value* LanesOfWholeGroups(const Value& masks, llvm::Value* all,
                                  llvm::Value* live) const;
  void Release(size_t k);
  void EmitIdle();
  llvm::Value* LanesParkedAt(lower::ConvergencePoint kind) const;
  void RetryWarpPoints();
  void ForceWarpPoints();
  llvm::Value* Again() const;
  llvm::Value* Retried() const;

  FunctionEmitters& e_;
  EmitContext& c_;
  Builder& b_;
  const LaneArrays arrays_;
  const FullPathExits& exits_;
  const MaskedPlan& plan_;
  const std::vector<bool> needed_;
  llvm::AllocaInst* exec_ = nullptr;
  llvm::BasicBlock* idle_ = nullptr;          // runs if no block is pending
  std::vector<llvm::BasicBlock*> blocks_;     // code of block k
  std::vector<llvm::BasicBlock*> dispatch_;   // tests if block k is pending
  std::map<size_t, Parked> parked_;           // by block
  std::map<int, llvm::BasicBlock*> resumed_;  // by entry
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MASKED_PATH_H_
