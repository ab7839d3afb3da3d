// SPDX-License-Identifier: Apache-2.0
//
// Emits the operations by which the lanes of a warp exchange values: votes,
// shuffles, matches, reductions.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_WARP_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_WARP_EMITTER_H_

#include "core/software/jit/operands.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class WarpEmitter {
 public:
  WarpEmitter(const EmitContext& context, const Operands& operands)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands) {}

  // Emits shfl. Operands: d[|p], a, b, c[, members]. b and c select a lane j.
  // The code sets d to the value of a in lane j, and p to true. If j is outside
  // of the lane's segment, it sets d to the lane's own value, and p to false.
  void EmitShuffle(const Step& step) const;
  void EmitVote(const Step& step) const;
  void EmitMatch(const Step& step) const;
  // Emits redux. Operands: d, a, members.
  void EmitRedux(const Step& step) const;
  // Emits elect. Operands: d|p, members. The code sets d to the lowest member,
  // and p to true in the lane that is this member.
  void EmitElect(const Step& step) const;
  void EmitActivemask(const Step& step) const;

 private:
  // The lanes from which the lanes of one chunk read.
  struct Source {
    llvm::Value* lane;    // <lanes x i32>: the lane to read
    llvm::Value* inside;  // <lanes x i1>: the selected lane is in the segment
  };
  Source ShuffleSource(const ptx::Instruction& instruction, const Value& by,
                       const Value& limits, int chunk) const;
  llvm::Value* Members(const Step& step) const;
  llvm::Value* Pick(const Value& value, llvm::Value* index) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_WARP_EMITTER_H_
