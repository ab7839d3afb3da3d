// SPDX-License-Identifier: Apache-2.0
//
// Which registers an instruction reads and writes follows from its form: the
// letters of its row in ptx/forms.inc say which operands are destinations, so
// that analyses need no list of opcodes. A guard is read; a carry is a register
// that the text does not name.
#include "core/software/lower/kernel.h"

#include <algorithm>

namespace holdfast::software::lower {
namespace {

using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

void Collect(const Operand& operand, std::vector<uint32_t>* registers) {
  if (operand.kind == Operand::Kind::kRegister) {
    registers->push_back(operand.index);
  }
  for (const Operand& element : operand.elements) Collect(element, registers);
}

}  // namespace

ConvergencePoint ConvergencePointOf(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  switch (instruction.opcode()) {
    case Opcode::kBar:
    case Opcode::kBarrier:
      return words.Has(ptx::Modifier::kWarp) ? ConvergencePoint::kWarp
                                             : ConvergencePoint::kBlock;
    case Opcode::kShfl:
    case Opcode::kVote:
    case Opcode::kMatch:
    case Opcode::kRedux:
    case Opcode::kElect:
      return words.Has(ptx::Modifier::kSync) ? ConvergencePoint::kWarp
                                             : ConvergencePoint::kNone;
    case Opcode::kLdmatrix:
    case Opcode::kMma:
    case Opcode::kMovmatrix:
    case Opcode::kStmatrix:
    case Opcode::kWmma:
      return ConvergencePoint::kWarp;
    default:
      return ConvergencePoint::kNone;
  }
}

bool TakesCarry(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kAddc ||
         instruction.opcode() == Opcode::kSubc ||
         instruction.opcode() == Opcode::kMadc;
}

// Returns the bytes that an instruction accesses: all elements of a vector
// together. The size of a cp.async is its third operand. The size of a bulk
// copy may be in a register, so the result is the unit of such copies.
int AccessBytes(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  if (words.Has(ptx::Modifier::kBulk)) return kBulkBytes;
  // A row of a matrix.
  if (words.Has(ptx::Modifier::kM8n8)) return kMatrixRowBytes;
  if (instruction.opcode() == Opcode::kCp &&
      !words.Has(ptx::Modifier::kArrive)) {
    return static_cast<int>(instruction.operands[2].bits);
  }
  return static_cast<int>(words.Elements()) * ptx::BytesOf(instruction.type());
}

size_t DestinationCount(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCall) return instruction.results;
  const absl::string_view letters = instruction.form->operands;
  if (instruction.operands.empty() || letters.empty()) return 0;
  if (letters[0] != 'd' && letters[0] != 'q') return 0;
  if (letters.substr(1, 1) == "q") return 2;
  // "d?q...": the second is there if nothing is missing.
  const bool second =
      letters.substr(1, 2) == "?q" &&
      instruction.operands.size() ==
          letters.size() - std::count(letters.begin(), letters.end(), '?');
  return second ? 2 : 1;
}

std::vector<uint32_t> RegistersWritten(const Instruction& instruction) {
  std::vector<uint32_t> registers;
  for (size_t i = 0; i < DestinationCount(instruction); ++i) {
    Collect(instruction.operands[i], &registers);
  }
  if (instruction.carry != ptx::kNoRegister &&
      instruction.modifiers.Has(ptx::Modifier::kCc)) {
    registers.push_back(instruction.carry);
  }
  return registers;
}

std::vector<uint32_t> RegistersRead(const Instruction& instruction) {
  std::vector<uint32_t> registers;
  Collect(instruction.guard, &registers);
  if (instruction.carry != ptx::kNoRegister && TakesCarry(instruction)) {
    registers.push_back(instruction.carry);
  }
  for (size_t i = DestinationCount(instruction);
       i < instruction.operands.size(); ++i) {
    Collect(instruction.operands[i], &registers);
  }
  return registers;
}

const ptx::Variable& Kernel::VariableOf(const Operand& operand) const {
  return operand.kind == Operand::Kind::kVariable
             ? module->variables[operand.index]
             : function->variables[operand.index];
}

uint64_t Kernel::AddressOf(const Operand& operand) const {
  return (operand.kind == Operand::Kind::kVariable
              ? addresses[operand.index]
              : variable_offsets[operand.index]) +
         static_cast<uint64_t>(operand.offset);
}

}  // namespace holdfast::software::lower
