// SPDX-License-Identifier: Apache-2.0
//
// Emits the loops that lanes run one after the other
// (analysis/scalar_loops.h). Full code has an exit in front of such a loop.
// Masked code contains the loop as plain scalar code. While one lane runs
// alone, every value is uniform.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_SCALAR_LOOP_PATH_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_SCALAR_LOOP_PATH_H_

#include <map>
#include <set>
#include <vector>

#include "core/software/jit/control_flow.h"

namespace holdfast::software::jit {

class MaskedPath;

class ScalarLoopPath : public ControlFlow {
 public:
  // `exec` is the word of running lanes of the masked code around the loops.
  // The arguments must outlive this object.
  ScalarLoopPath(FunctionEmitters& emitters, const MaskedPath& masked,
                 llvm::AllocaInst* exec);

  // Emits an entry into the loop of block `k` for the running lanes of masked
  // code.
  void Enter(size_t k);
  // Emits the loops. REQUIRES: all calls of Enter were made.
  void EmitLoops();

  ActiveLanes lanes() const override { return {.exec = exec_, .lane = lane_}; }
  void Branch(const ptx::Instruction* instruction, size_t k,
              llvm::Value* rotate) override;
  void Converge(const Step& step) override;
  void EnterInFrontOf(const ptx::Instruction&) override {}

 private:
  struct Loop {
    llvm::BasicBlock* start = nullptr;
    llvm::AllocaInst* entry = nullptr;  // i32: the block at which lanes enter
    std::vector<size_t> entries;        // blocks at which lanes may enter
    std::set<uint32_t> taken_in, written;     // registers loaded, written
    std::map<int, llvm::BasicBlock*> blocks;  // code of a block
    std::map<int, llvm::BasicBlock*> exits;   // to a block outside
  };

  bool Contains(int first, size_t k) const;
  void FindRegisters(int first);
  void EmitLoop(int first);
  llvm::Value* NextLane(llvm::AllocaInst* rest);
  void SwitchToEntry(int first);
  // Emits the exits. Returns the lowest of `first` and the blocks to which the
  // exits lead.
  int EmitExits(int first, llvm::BasicBlock* done);
  llvm::BasicBlock* TargetOf(int target);
  void TakeIn(uint32_t index);
  void GiveBack(uint32_t index);

  FunctionEmitters& e_;
  const EmitContext& c_;
  Builder& b_;
  const LaneArrays arrays_;
  const MaskedPath& masked_;
  llvm::AllocaInst* const exec_;
  std::map<int, Loop> loops_;    // by the first block
  Loop* loop_ = nullptr;         // the loop that is being emitted
  llvm::Value* lane_ = nullptr;  // i32; null unless a loop is being emitted
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_SCALAR_LOOP_PATH_H_
