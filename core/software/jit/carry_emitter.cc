// SPDX-License-Identifier: Apache-2.0
//
// An unsigned sum has carried if it is below a summand, a difference has
// borrowed if a < b. With a carry taken there are two steps, of which at most
// one carries: their tests are joined by |.
#include "core/software/jit/carry_emitter.h"

#include <vector>

#include "core/software/jit/arithmetic/integer.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

void CarryEmitter::Emit(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const Type type = instruction.type();
  const Opcode opcode = instruction.opcode();
  const bool subtracts = opcode == Opcode::kSub || opcode == Opcode::kSubc;
  const bool multiplies = opcode == Opcode::kMad || opcode == Opcode::kMadc;
  Operand carry;
  carry.kind = Operand::Kind::kRegister;
  carry.index = instruction.carry;
  std::vector<Value> in;
  for (size_t i = 1; i < instruction.operands.size(); ++i) {
    in.push_back(operands_.Read(step.lanes, instruction.operands[i], type));
  }
  const bool takes = lower::TakesCarry(instruction);
  Value taken;
  if (takes) taken = operands_.Read(step.lanes, carry, Type::kPred);
  Value result{LaneShape::Varying(), type, {}};
  Value out{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* a = v_.Vector(in[0], c);
    llvm::Value* b = v_.Vector(in[1], c);
    if (multiplies) {
      a = Multiply(b_, instruction, a, b);
      b = v_.Vector(in[2], c);
    }
    llvm::Value* bit = takes ? v_.Vector(taken, c) : nullptr;
    const Sum sum = subtracts ? Subtract(a, b, bit) : Add(a, b, bit);
    result.parts.push_back(sum.value);
    out.parts.push_back(sum.carry);
  }
  if (instruction.modifiers.Has(Modifier::kCc)) {
    operands_.Write(step.lanes, carry, out);
  }
  operands_.Write(step.lanes, instruction.operands[0], result);
}

CarryEmitter::Sum CarryEmitter::Add(llvm::Value* a, llvm::Value* b,
                                    llvm::Value* taken) const {
  llvm::Value* more = Widened(taken, a->getType());
  llvm::Value* first = b_.CreateAdd(a, b);
  llvm::Value* sum = b_.CreateAdd(first, more);
  llvm::Value* carried = b_.CreateICmpULT(first, a);
  return {sum, b_.CreateOr(carried, b_.CreateICmpULT(sum, first))};
}

CarryEmitter::Sum CarryEmitter::Subtract(llvm::Value* a, llvm::Value* b,
                                         llvm::Value* taken) const {
  llvm::Value* borrow = taken == nullptr ? nullptr : b_.CreateNot(taken);
  llvm::Value* less = Widened(borrow, a->getType());
  llvm::Value* first = b_.CreateSub(a, b);
  llvm::Value* difference = b_.CreateSub(first, less);
  llvm::Value* borrowed = b_.CreateICmpULT(a, b);
  return {difference,
          b_.CreateNot(b_.CreateOr(borrowed, b_.CreateICmpULT(first, less)))};
}

// Returns a bit as a number; null stands for zeros.
llvm::Value* CarryEmitter::Widened(llvm::Value* bit, llvm::Type* type) const {
  return bit == nullptr ? llvm::Constant::getNullValue(type)
                        : b_.CreateZExt(bit, type);
}

}  // namespace holdfast::software::jit
