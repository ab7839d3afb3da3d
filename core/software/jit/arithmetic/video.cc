// SPDX-License-Identifier: Apache-2.0
//
// Video instructions are rare, so that all go to their scalar definitions, with
// everything but the values of the operands packed into one word. vset has two
// types, for a and b; the others three, with that of the result in front.
#include "core/software/jit/arithmetic/video.h"

#include <optional>

#include "core/software/jit/arithmetic/scalar.h"
#include "core/software/semantics/scalar_video.h"
#include "core/software/semantics/video.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Selector;

namespace {

VideoOperation ComparisonOf(const ptx::Modifiers& words) {
  using Operation = VideoOperation;
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

std::optional<VideoOperation> OperationOf(const Instruction& instruction) {
  using Operation = VideoOperation;
  switch (instruction.opcode()) {
    case Opcode::kVadd:
    case Opcode::kVadd2:
    case Opcode::kVadd4:
      return Operation::kAdd;
    case Opcode::kVsub:
    case Opcode::kVsub2:
    case Opcode::kVsub4:
      return Operation::kSub;
    case Opcode::kVavrg2:
    case Opcode::kVavrg4:
      return Operation::kAverage;
    case Opcode::kVabsdiff:
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4:
      return Operation::kAbsoluteDifference;
    case Opcode::kVmin:
    case Opcode::kVmin2:
    case Opcode::kVmin4:
      return Operation::kMin;
    case Opcode::kVmax:
    case Opcode::kVmax2:
    case Opcode::kVmax4:
      return Operation::kMax;
    case Opcode::kVshl:
      return Operation::kShiftLeft;
    case Opcode::kVshr:
      return Operation::kShiftRight;
    case Opcode::kVmad:
      return Operation::kMultiplyAdd;
    case Opcode::kVset:
    case Opcode::kVset2:
    case Opcode::kVset4:
      return ComparisonOf(instruction.modifiers);
    default:
      return std::nullopt;
  }
}

struct Signs {
  bool result;
  bool a;
  bool b;
};

Signs SignsOf(const ptx::Modifiers& words) {
  const auto& types = words.types;
  const bool compares = words.type_count == 2;
  return {!compares && ptx::IsSigned(types[0]),
          ptx::IsSigned(types[compares ? 0 : 1]),
          ptx::IsSigned(types[compares ? 1 : 2])};
}

ScalarVideo::Part PartOf(const Selector& selector) {
  using Part = ScalarVideo::Part;
  if (selector.count == 0) return Part::kWhole;
  const Part first = selector.halves ? Part::kHalf0 : Part::kByte0;
  return static_cast<Part>(static_cast<int>(first) + selector.parts[0]);
}

ScalarVideo::Second SecondOf(const ptx::Modifiers& words) {
  using Second = ScalarVideo::Second;
  return words.Has(Modifier::kAdd)   ? Second::kAdd
         : words.Has(Modifier::kMin) ? Second::kMin
         : words.Has(Modifier::kMax) ? Second::kMax
                                     : Second::kNothing;
}

ScalarVideo NumberVideo(const Instruction& instruction,
                        VideoOperation operation) {
  const ptx::Modifiers& words = instruction.modifiers;
  const auto& operands = instruction.operands;
  const Signs signs = SignsOf(words);
  ScalarVideo video;
  video.operation = operation;
  video.second = SecondOf(words);
  video.d = PartOf(operands[0].selector);
  video.a = PartOf(operands[1].selector);
  video.b = PartOf(operands[2].selector);
  video.signed_result = signs.result;
  video.signed_a = signs.a;
  video.signed_b = signs.b;
  video.saturate = words.Has(Modifier::kSat);
  video.wrap = words.Has(Modifier::kWrap);
  video.negate_product = operands[1].minus != operands[2].minus;
  video.negate_c = operands.size() > 3 && operands[3].minus;
  video.plus_one = words.Has(Modifier::kPo);
  video.scale = words.Has(Modifier::kShr7)    ? 7
                : words.Has(Modifier::kShr15) ? 15
                                              : 0;
  return video;
}

// The parts of a and b that the selector names, as a register.
llvm::Value* Selected(Builder& ir, const Selector& selector, llvm::Value* whole,
                      llvm::Value* a, llvm::Value* b) {
  if (selector.count == 0) return whole;
  const int bits = selector.halves ? 16 : 8;
  llvm::Value* result = ir.ConstantLike(a, 0);
  for (int i = 0; i < selector.count; ++i) {
    const int from = selector.parts[i] * bits;
    llvm::Value* part =
        ir.CreateLShr(from < 32 ? a : b, ir.ConstantLike(a, from % 32));
    part = ir.CreateAnd(part, ir.ConstantLike(a, (1 << bits) - 1));
    result =
        ir.CreateOr(result, ir.CreateShl(part, ir.ConstantLike(a, i * bits)));
  }
  return result;
}

Video PackedVideo(const Instruction& instruction, VideoOperation operation) {
  const ptx::Modifiers& words = instruction.modifiers;
  const Signs signs = SignsOf(words);
  const Selector& mask = instruction.operands[0].selector;
  Video video;
  video.operation = operation;
  video.bytes = ptx::VideoParts(instruction.opcode()) == 4;
  video.signed_result = signs.result;
  video.signed_a = signs.a;
  video.signed_b = signs.b;
  video.saturate = words.Has(Modifier::kSat);
  video.accumulate = words.Has(Modifier::kAdd);
  if (mask.count > 0) video.mask = 0;
  for (int i = 0; i < mask.count; ++i) {
    video.mask = static_cast<uint8_t>(video.mask | 1 << mask.parts[i]);
  }
  return video;
}

}  // namespace

llvm::Value* ComputeVideoInstruction(Builder& ir,
                                     const Instruction& instruction,
                                     Values in) {
  const auto operation = OperationOf(instruction);
  if (!operation) return nullptr;
  if (ptx::VideoParts(instruction.opcode()) == 1) {
    return CallScalar(ir, "scalar_video", in,
                      PackScalarVideo(NumberVideo(instruction, *operation)),
                      ir.getInt32Ty());
  }
  const auto& operands = instruction.operands;
  llvm::Value* const selected[] = {
      Selected(ir, operands[1].selector, in[0], in[0], in[1]),
      Selected(ir, operands[2].selector, in[1], in[0], in[1]), in[2]};
  return CallScalar(ir, "video", selected,
                    PackVideo(PackedVideo(instruction, *operation)),
                    ir.getInt32Ty());
}

}  // namespace holdfast::software::jit
