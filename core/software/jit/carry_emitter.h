// SPDX-License-Identifier: Apache-2.0
//
// Emits extended precision: sums and differences that write a carry, read a
// carry, or do both. The carry is a predicate register (Instruction::carry).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CARRY_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CARRY_EMITTER_H_

#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

// The emitter of instructions with a carry. An adder computes a - b as
// a + ~b + 1. So a difference sets the carry if nothing was borrowed, and subc
// borrows if the carry is not set. PTX calls the flag of a difference a borrow.
// But code of NVIDIA's compiler, such as the division of __int128, reads the
// flag by addc.
class CarryEmitter {
 public:
  CarryEmitter(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}

  // Emits an instruction. REQUIRES: the instruction has a carry.
  void Emit(const Step& step) const;

 private:
  // A sum or a difference. Both values are vectors for the lanes of a chunk.
  struct Sum {
    llvm::Value* value;
    llvm::Value* carry;
  };

  // `taken` is the vector of the carry that the instruction reads; null: the
  // instruction reads no carry.
  Sum Add(llvm::Value* a, llvm::Value* b, llvm::Value* taken) const;
  Sum Subtract(llvm::Value* a, llvm::Value* b, llvm::Value* taken) const;
  llvm::Value* Widened(llvm::Value* bit, llvm::Type* type) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CARRY_EMITTER_H_
