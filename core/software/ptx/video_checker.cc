// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/video_checker.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {
namespace {

// In a vector none may, since no video instruction has one.
bool NamesParts(const Operand& operand) {
  return operand.selector.count > 0 ||
         std::any_of(operand.elements.begin(), operand.elements.end(),
                     NamesParts);
}

bool Below(const Selector& selector, int end) {
  return std::all_of(selector.parts, selector.parts + selector.count,
                     [&](uint8_t part) { return part < end; });
}

// vadd and the like name one part of d, a or b. Where they name one of d, c
// gives the rest.
bool FitsNumber(const Instruction& instruction, size_t at) {
  const Selector& selector = instruction.operands[at].selector;
  if (selector.count != 1 || at > 2) return false;
  if (!Below(selector, selector.halves ? 2 : 4)) return false;
  if (at > 0) return true;
  const Modifiers& words = instruction.modifiers;
  return instruction.opcode() != Opcode::kVmad &&
         instruction.operands.size() == 4 &&
         !words.In(Modifier::kAdd, Modifier::kMax);
}

// vadd4 and the like name some parts of d, and as many parts of a and b
// together as one register has.
bool FitsPacked(const Instruction& instruction, size_t at, int parts) {
  const Selector& selector = instruction.operands[at].selector;
  if (selector.halves != (parts == 2) || at > 2) return false;
  if (at > 0) return selector.count == parts && Below(selector, 2 * parts);
  return Below(selector, parts) &&
         std::adjacent_find(selector.parts, selector.parts + selector.count,
                            std::greater_equal<>()) ==
             selector.parts + selector.count;
}

std::string CheckSigns(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const auto minus = [](const Operand& operand) {
    return operand.minus ||
           std::any_of(operand.elements.begin(), operand.elements.end(),
                       [](const Operand& element) { return element.minus; });
  };
  if (std::none_of(operands.begin(), operands.end(), minus)) return "";
  const absl::string_view name = SpellingOf(instruction.opcode());
  if (instruction.opcode() != Opcode::kVmad || minus(operands[0])) {
    return absl::StrCat("an operand of '", name, "' cannot have a minus sign");
  }
  if (instruction.modifiers.Has(Modifier::kPo)) {
    return "'vmad' with '.po' takes no minus signs";
  }
  const bool product = minus(operands[1]) || minus(operands[2]);
  return product && minus(operands[3])
             ? "'vmad' takes minus signs of its factors or of its addend"
             : "";
}

}  // namespace

std::string CheckSelectors(const Instruction& instruction) {
  const int parts = VideoParts(instruction.opcode());
  for (size_t at = 0; at < instruction.operands.size(); ++at) {
    if (!NamesParts(instruction.operands[at])) continue;
    if (parts == 0 || !(parts == 1 ? FitsNumber(instruction, at)
                                   : FitsPacked(instruction, at, parts))) {
      return absl::StrCat("operand ", at + 1, " of '",
                          SpellingOf(instruction.opcode()),
                          "' cannot name these parts of a register");
    }
  }
  return CheckSigns(instruction);
}

}  // namespace holdfast::software::ptx
