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
  // The number of a barrier, and the number of the round for which lanes wait.
  // For a cluster's barrier: kClusterBarrier, and the mask of the waiting
  // lanes. All values are i32.
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

  // Emits a call that makes all lanes of the warp arrive and wait. REQUIRES:
  // the instruction is a barrier of the block without a reduction.
  void Synchronize(const Step& step) const;
  // Returns true for barrier.cluster, which has separate instructions to arrive
  // and to wait.
  static bool IsOfCluster(const ptx::Instruction& instruction);
  // Emits a call that makes `lanes` arrive at the barrier. `live` are the
  // warp's lanes that have not ended. Both are masks (i32). Returns the round
  // for which the lanes must wait. Emits no call for the wait instruction of a
  // cluster, because the lanes have arrived before.
  Round Arrive(const Step& step, llvm::Value* lanes, llvm::Value* live) const;
  // Returns an i1 that is true if the barrier has completed the round.
  llvm::Value* Passed(const Round& round) const;
  // Emits a loop that ends when the barrier has completed the round. Other
  // warps run meanwhile.
  void WaitFor(const Round& round) const;
  // Emits, for barrier.red, a write of the result of a completed round to the
  // destination register of `lanes` (i32); null: of all lanes. Emits nothing
  // for other instructions.
  void WriteReduction(const Step& step, const Round& round,
                      llvm::Value* lanes) const;

  // Emits code for the end of block `k`, from which control returns to the
  // start of a loop. If the loop may wait for another thread, the code lets
  // other warps run in every 64th iteration. Returns an i1 that is true in
  // these iterations, in which other lanes of the warp should run first.
  // Returns null, and emits nothing, if the loop waits for no thread.
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
