// SPDX-License-Identifier: Apache-2.0
//
// Registers that an operand names in braces, as an array that the runtime reads
// or writes: one register after the other, each with a word for each of the 32
// lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_

#include "absl/types/span.h"
#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

// Returns the registers of an operand: the elements in braces, or the operand
// itself.
absl::Span<const ptx::Operand> RegistersOf(const ptx::Operand& operand);

// An array lives on the stack from Make() or Spill() to End() or Take(), so
// that the arrays of many instructions share one place.
class RegisterArrays {
 public:
  RegisterArrays(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}

  // Returns the type of a register that holds elements of this type.
  static ptx::Type WordOf(ptx::Type element);

  // Returns an array for the values of `count` registers.
  llvm::AllocaInst* Make(size_t count, ptx::Type word) const;
  // Returns an array with the values of the first `count` registers.
  llvm::AllocaInst* Spill(const Step& step,
                          absl::Span<const ptx::Operand> registers,
                          ptx::Type word) const;
  // Returns the address of a register's words.
  llvm::Value* At(llvm::AllocaInst* array, size_t at_register,
                  ptx::Type word) const;
  // Writes the array to the registers, and ends it. An array of fewer registers
  // is written several times.
  void Take(const Step& step, absl::Span<const ptx::Operand> registers,
            ptx::Type word, llvm::AllocaInst* array) const;
  void End(llvm::AllocaInst* array) const;

 private:
  Value Load(llvm::AllocaInst* array, size_t at_register, ptx::Type word) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_
