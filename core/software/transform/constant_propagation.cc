// SPDX-License-Identifier: Apache-2.0
//
// Two passes: the registers that one unguarded mov writes, with a number, and
// nothing else; then every operand that reads one of them. Values need not be
// followed through blocks, since such a register has one value wherever it has
// any.
#include "core/software/transform/constant_propagation.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "core/software/lower/kernel.h"

namespace holdfast::software::transform {
namespace {

using lower::DestinationCount;
using lower::RegistersWritten;

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

using Constants = std::vector<std::optional<uint64_t>>;  // by register

// Returns the number that `mov` moves; nothing if it moves something else.
std::optional<uint64_t> NumberOf(const Instruction& mov) {
  const Operand& source = mov.operands[1];
  switch (source.kind) {
    case Operand::Kind::kInteger:
    case Operand::Kind::kFloat32:
      return source.bits;
    case Operand::Kind::kFloat64:
      break;
    default:
      return std::nullopt;
  }
  if (mov.type() != Type::kF32) return source.bits;
  double wide;
  std::memcpy(&wide, &source.bits, sizeof(wide));
  const float narrow = static_cast<float>(wide);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return bits;
}

// A register qualifies if one instruction of the whole body writes it: an
// unguarded mov of a number, as wide as the register.
Constants Find(const Function& function) {
  Constants constants(function.registers.size());
  std::vector<int> writes(function.registers.size(), 0);
  for (const Instruction& instruction : function.body) {
    for (const uint32_t r : RegistersWritten(instruction)) ++writes[r];
  }
  for (const Instruction& instruction : function.body) {
    if (instruction.opcode() != Opcode::kMov ||
        instruction.guard.kind != Operand::Kind::kNone ||
        !instruction.operands[0].IsRegister()) {
      continue;
    }
    const uint32_t r = instruction.operands[0].index;
    const Type type = function.registers[r].type;
    if (writes[r] != 1 || type == Type::kPred ||
        ptx::BitsOf(type) != ptx::BitsOf(instruction.type())) {
      continue;
    }
    constants[r] = NumberOf(instruction);
  }
  return constants;
}

// Some operands have to be registers, or mean something else as a number.
bool TakesNumbers(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAtom:
    case Opcode::kCall:
    case Opcode::kCp:
    case Opcode::kMbarrier:
    case Opcode::kRed:
      return false;
    default:
      return true;
  }
}

}  // namespace

void PropagateConstants(Function* function) {
  const Constants constants = Find(*function);
  for (Instruction& instruction : function->body) {
    if (!TakesNumbers(instruction)) continue;
    for (size_t i = DestinationCount(instruction);
         i < instruction.operands.size(); ++i) {
      Operand& operand = instruction.operands[i];
      if (!operand.IsRegister() || !constants[operand.index]) continue;
      Operand number;
      number.kind = Operand::Kind::kInteger;
      number.bits = *constants[operand.index];
      // What the instruction takes of the register it takes of the number.
      number.selector = operand.selector;
      number.minus = operand.minus;
      operand = number;
    }
  }
}

}  // namespace holdfast::software::transform
