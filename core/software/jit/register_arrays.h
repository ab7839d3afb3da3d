// SPDX-License-Identifier: Apache-2.0
//
// Arrays by which generated code passes the registers of an operand to the
// runtime: one register after the other, each with a word for each of the 32
// lanes.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGISTER_ARRAYS_H_

#include <vector>

#include "absl/types/span.h"
#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

// Returns the registers of an operand: the elements in braces, or the operand
// itself.
absl::Span<const ptx::Operand> RegistersOf(const ptx::Operand& operand);

// Make() and Spill() give an array to the caller, and End() and Take() take it
// back for the next instruction. So a function has as many arrays on its stack
// as one instruction needs, however many instructions there are.
class RegisterArrays {
 public:
  RegisterArrays(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}
  RegisterArrays(const RegisterArrays&) = delete;
  RegisterArrays& operator=(const RegisterArrays&) = delete;

  // Returns the type of a register that holds elements of this type.
  static ptx::Type WordOf(ptx::Type element);

  // Returns an array without values.
  llvm::AllocaInst* Make();
  // Returns an array with the values of the registers.
  llvm::AllocaInst* Spill(const Step& step,
                          absl::Span<const ptx::Operand> registers,
                          ptx::Type word);
  // Returns the address of a register's words.
  llvm::Value* At(llvm::AllocaInst* array, size_t at_register,
                  ptx::Type word) const;
  // Writes an array of `count` registers to `registers`, and ends the array. If
  // there are more registers, the array is written to them again and again.
  void Take(const Step& step, absl::Span<const ptx::Operand> registers,
            ptx::Type word, llvm::AllocaInst* array, size_t count);
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
