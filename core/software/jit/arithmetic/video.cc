// SPDX-License-Identifier: Apache-2.0
//
// SIMD instructions on two halves or four bytes of a register: vadd4,
// vabsdiff2, vset4, ... Rare, so that all go to the scalar definition, with the
// operation and the signs of its types packed into one word. vset has two
// types, for a and b; the others three, with that of the result in front.
#include "core/software/jit/arithmetic/video.h"

#include "core/software/jit/arithmetic/scalar.h"
#include "core/software/semantics/video.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

using Operation = Video::Operation;

Operation ComparisonOf(const ptx::Modifiers& words) {
  switch (words.In(Modifier::kEq, Modifier::kGe).value_or(Modifier::kEq)) {
    case Modifier::kNe:
      return Operation::kNe;
    case Modifier::kLt:
      return Operation::kLt;
    case Modifier::kLe:
      return Operation::kLe;
    case Modifier::kGt:
      return Operation::kGt;
    case Modifier::kGe:
      return Operation::kGe;
    default:
      return Operation::kEq;
  }
}

std::optional<Operation> OperationOf(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kVadd2:
    case Opcode::kVadd4:
      return Operation::kAdd;
    case Opcode::kVsub2:
    case Opcode::kVsub4:
      return Operation::kSub;
    case Opcode::kVavrg2:
    case Opcode::kVavrg4:
      return Operation::kAverage;
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4:
      return Operation::kAbsoluteDifference;
    case Opcode::kVmin2:
    case Opcode::kVmin4:
      return Operation::kMin;
    case Opcode::kVmax2:
    case Opcode::kVmax4:
      return Operation::kMax;
    case Opcode::kVset2:
    case Opcode::kVset4:
      return ComparisonOf(instruction.modifiers);
    default:
      return std::nullopt;
  }
}

}  // namespace

// The width of a part is the last letter of the opcode.
llvm::Value* ComputeVideoParts(Builder& ir, const Instruction& instruction,
                               Values in) {
  const std::optional<Operation> operation = OperationOf(instruction);
  if (!operation) return nullptr;
  const ptx::Modifiers& words = instruction.modifiers;
  const bool compares = words.type_count == 2;
  Video video;
  video.operation = *operation;
  video.bytes = ptx::SpellingOf(instruction.opcode()).back() == '4';
  video.signed_result = !compares && ptx::IsSigned(words.types[0]);
  video.signed_a = ptx::IsSigned(words.types[compares ? 0 : 1]);
  video.signed_b = ptx::IsSigned(words.types[compares ? 1 : 2]);
  video.saturate = words.Has(Modifier::kSat);
  video.accumulate = words.Has(Modifier::kAdd);
  return CallScalar(ir, "video", in, PackVideo(video), ir.getInt32Ty());
}

}  // namespace holdfast::software::jit
