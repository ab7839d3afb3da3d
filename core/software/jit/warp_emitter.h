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

  // Operands: d[|p], a, b, c[, members]. Sets d to the value of a in lane j,
  // which b and c select, and p to whether j is in the lane's segment. If it is
  // not, d is the lane's own value.
  void EmitShuffle(const Step& step) const;
  void EmitVote(const Step& step) const;
  void EmitMatch(const Step& step) const;
  // Operands: d, a, members.
  void EmitRedux(const Step& step) const;
  // Operands: d|p, members. Sets d to the lowest member, and p to whether the
  // lane is this member.
  void EmitElect(const Step& step) const;
  void EmitActivemask(const Step& step) const;

 private:
  // The sources of the lanes of one chunk.
  struct Source {
    llvm::Value* lane;    // <lanes x i32>: the lane to read
    llvm::Value* inside;  // mask: the lane given by the operands is in range
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
