// SPDX-License-Identifier: Apache-2.0
//
// Extended precision: sums that leave a carry, and sums that take one. The
// carry is a predicate register (Instruction::carry).
#include "core/software/jit/arithmetic/integer.h"
#include "core/software/jit/arithmetic_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

// An unsigned sum has carried if it is below a summand, a difference has
// borrowed if a < b. With a carry taken there are two steps, of which at most
// one carries: their tests are joined by |.
//
// The flag is the carry of the adder, which computes a - b as a + ~b + 1: a
// difference sets it if nothing was borrowed, and subc borrows if it is not
// set. PTX calls the flag of a difference a borrow; but code of NVIDIA's
// compiler, such as the division of __int128, reads it by addc.
void ArithmeticEmitter::EmitCarry(const Step& step) const {
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
  Value carried;
  if (lower::TakesCarry(instruction))
    carried = operands_.Read(step.lanes, carry, Type::kPred);
  Value result{LaneShape::Varying(), type, {}};
  Value out{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* a = v_.Vector(in[0], c);
    llvm::Value* b = v_.Vector(in[1], c);
    if (multiplies) {
      a = Multiply(b_, instruction, a, b);
      b = v_.Vector(in[2], c);
    }
    llvm::Value* taken =
        carried.parts.empty()
            ? llvm::Constant::getNullValue(a->getType())
            : b_.CreateZExt(subtracts ? b_.CreateNot(v_.Vector(carried, c))
                                      : v_.Vector(carried, c),
                            a->getType());
    llvm::Value* first = subtracts ? b_.CreateSub(a, b) : b_.CreateAdd(a, b);
    llvm::Value* sum =
        subtracts ? b_.CreateSub(first, taken) : b_.CreateAdd(first, taken);
    result.parts.push_back(sum);
    out.parts.push_back(
        subtracts ? b_.CreateNot(b_.CreateOr(b_.CreateICmpULT(a, b),
                                             b_.CreateICmpULT(first, taken)))
                  : b_.CreateOr(b_.CreateICmpULT(first, a),
                                b_.CreateICmpULT(sum, first)));
  }
  if (instruction.modifiers.Has(Modifier::kCc))
    operands_.Write(step.lanes, carry, out);
  operands_.Write(step.lanes, instruction.operands[0], result);
}

}  // namespace holdfast::software::jit
