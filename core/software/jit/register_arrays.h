// SPDX-License-Identifier: Apache-2.0
//
// Emits arrays by which generated code passes the registers of an operand to
// the runtime. An array has one register after the other, each with one word
// for each of the 32 lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_

#include <vector>

#include "absl/types/span.h"
#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

// Returns the registers of an operand: the elements in braces, or the operand
// itself.
absl::Span<const ptx::Operand> RegistersOf(const ptx::Operand& operand);

// The arrays of one LLVM function. Make() and Spill() lend an array to the
// caller. End() and Take() take the array back for the next instruction. So a
// function has only as many arrays on its stack as one instruction needs.
class RegisterArrays {
 public:
  RegisterArrays(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}
  RegisterArrays(const RegisterArrays&) = delete;
  RegisterArrays& operator=(const RegisterArrays&) = delete;

  // Returns the type of a word that holds elements of this type: b64 for f64,
  // otherwise b32.
  static ptx::Type WordOf(ptx::Type element);

  // Returns an array without values, with room for 8 registers.
  llvm::AllocaInst* Make();
  // Returns an array, and emits stores of the values of the registers to it.
  // There are at most 8 registers.
  llvm::AllocaInst* Spill(const Step& step,
                          absl::Span<const ptx::Operand> registers,
                          ptx::Type word);
  // Returns the address of the words of register number `at_register`.
  llvm::Value* At(llvm::AllocaInst* array, size_t at_register,
                  ptx::Type word) const;
  // Emits a write of the first `count` registers of the array to `registers`,
  // and takes the array back. If `registers` has more than `count` registers,
  // the array's values repeat.
  void Take(const Step& step, absl::Span<const ptx::Operand> registers,
            ptx::Type word, llvm::AllocaInst* array, size_t count);
  // Takes the array back.
  void End(llvm::AllocaInst* array) { free_.push_back(array); }

 private:
  llvm::Value* Chunk(llvm::AllocaInst* array, size_t at_register, int chunk,
                     ptx::Type word) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const Operands& operands_;
  std::vector<llvm::AllocaInst*> free_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_
