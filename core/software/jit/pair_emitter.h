// SPDX-License-Identifier: Apache-2.0
//
// Emits instructions with two results: setp p|q and lop3 d|p.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PAIR_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PAIR_EMITTER_H_

#include <array>

#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

class PairEmitter {
 public:
  PairEmitter(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}

  // Emits an instruction. REQUIRES: the instruction is a setp or lop3 with two
  // results.
  void Emit(const Step& step) const;

 private:
  // The values of p and q: vectors of i1.
  using Sides = std::array<llvm::Value*, 2>;

  void EmitSetp(const Step& step) const;
  void EmitLogic(const Step& step) const;
  // Returns the results of the comparison of x and y; nulls if there is no such
  // comparison.
  Sides Compared(const ptx::Instruction& instruction, llvm::Value* x,
                 llvm::Value* y) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PAIR_EMITTER_H_
