// SPDX-License-Identifier: Apache-2.0
//
// Emits the runtime calls with which lanes wait for other warps: at barriers,
// and in loops that wait for another thread. The full path and the masked path
// decide which code runs while lanes wait.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BARRIER_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BARRIER_EMITTER_H_

#include "core/software/jit/operands.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class BarrierEmitter {
 public:
  // A barrier's number, and the number of the round that lanes wait for; at a
  // cluster's barrier, kClusterBarrier and the waiting lanes. All i32.
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

  // Makes all lanes of the warp arrive and wait, in one call. For barriers
  // without a reduction.
  void Synchronize(const Step& step) const;
  // Returns true for barrier.cluster, which has separate instructions to arrive
  // and to wait.
  static bool IsOfCluster(const ptx::Instruction& instruction);
  // Makes `lanes` arrive at the barrier; `live` are the warp's lanes that have
  // not ended. Both are masks (i32). Returns the round to wait for. For a
  // cluster's wait instruction, only returns it: the lanes have arrived before.
  Round Arrive(const Step& step, llvm::Value* lanes, llvm::Value* live) const;
  // Returns whether the barrier has completed the round, i1.
  llvm::Value* Passed(const Round& round) const;
  // Loops until the barrier has completed the round. Other warps run meanwhile.
  void WaitFor(const Round& round) const;
  // For barrier.red, writes the result of a completed round to the destination
  // register of `lanes`; null: of all lanes. Does nothing otherwise.
  void WriteReduction(const Step& step, const Round& round,
                      llvm::Value* lanes) const;

  // Called at the end of block `k`, which is the back edge of a loop. If the
  // loop may be waiting for another thread, every 64th iteration lets other
  // warps run. Returns an i1 that is true in these iterations, in which other
  // lanes of the warp should run first; null if the loop does not wait.
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
