// SPDX-License-Identifier: Apache-2.0
//
// The operations by which the lanes of a warp exchange values: votes, shuffles,
// matches, reductions.
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

  // d[|p], a, b, c[, members]: lane j of a, where b and c say which j; p:
  // whether j was in the segment.
  void EmitShuffle(const Step& step) const;
  void EmitVote(const Step& step) const;
  void EmitMatch(const Step& step) const;
  // d, a, members
  void EmitRedux(const Step& step) const;
  // d|p, members: the lowest member, and whether a lane is it.
  void EmitElect(const Step& step) const;
  void EmitActivemask(const Step& step) const;

 private:
  // Lanes of a chunk, <lanes x i32> or masks.
  struct Source {
    llvm::Value* lane;    // where each lane's value comes from
    llvm::Value* inside;  // whether that was in the segment
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
