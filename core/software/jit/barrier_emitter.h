// SPDX-License-Identifier: Apache-2.0
//
// The calls by which lanes wait for other warps of their block: barriers and
// loops that wait for another thread. Where lanes go meanwhile is for the path
// that they are on to say.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BARRIER_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BARRIER_EMITTER_H_

#include "core/software/jit/operands.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class BarrierEmitter {
 public:
  // A barrier and its round that lanes wait for, both i32.
  struct Round {
    llvm::Value* barrier;
    llvm::Value* round;
  };

  BarrierEmitter(const EmitContext& context, const Operands& operands,
                 Registers& registers)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands),
        registers_(registers) {}

  // All lanes of the warp arrive and wait.
  void Synchronize(const Step& step) const;
  // barrier.cluster: arriving and waiting are two instructions.
  static bool IsOfCluster(const ptx::Instruction& instruction);
  // Announces `lanes` at the barrier, of `live` ones that have not ended.
  // Returns the round that they have to wait for. At the wait of a cluster,
  // they have arrived already.
  Round Arrive(const Step& step, llvm::Value* lanes, llvm::Value* live) const;
  // Returns whether the barrier has completed the round, i1.
  llvm::Value* Passed(const Round& round) const;
  // Loops until it has; other warps run meanwhile.
  void WaitFor(const Round& round) const;
  // barrier.red: writes the result of a completed round to `lanes`; null: to
  // all.
  void WriteReduction(const Step& step, const Round& round,
                      llvm::Value* lanes) const;

  // At the end of block `k`, which goes back in a loop. Every 64th round of a
  // loop that may be waiting for another thread lets other warps run. Returns
  // whether this is such a round (i1), so that other blocks of the warp, which
  // the loop may be waiting for, should run first; null if it waits for none.
  llvm::Value* YieldInLoop(size_t k) const;

 private:
  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  Registers& registers_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_BARRIER_EMITTER_H_
