// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/operand_checker.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/software/ptx/forms.h"
#include "core/software/ptx/video_checker.h"

namespace holdfast::software::ptx {
namespace {

// Numbers that an instruction takes; `step` divides them.
struct Range {
  uint64_t first;
  uint64_t last;
  uint64_t step;
};

constexpr Range kRegisterCounts = {24, 256, 8};
constexpr Range kBulkSizes = {0, UINT32_MAX, 16};

}  // namespace

bool IsPredicate(const Function& function, const Operand& operand) {
  if (operand.kind == Operand::Kind::kSpecial) {
    return TypeOf(static_cast<Special>(operand.index)) == Type::kPred;
  }
  return operand.IsRegister() &&
         function.registers[operand.index].type == Type::kPred;
}

std::string OperandChecker::Check(const Instruction& instruction) const {
  std::string mistake = CheckOperands(instruction);
  if (mistake.empty()) mistake = CheckSelectors(instruction);
  if (mistake.empty()) mistake = CheckStride(instruction);
  return mistake.empty() ? CheckNumbers(instruction) : mistake;
}

std::string OperandChecker::CheckOperands(
    const Instruction& instruction) const {
  if (instruction.opcode() == Opcode::kCall) {
    for (size_t at = 0; at < instruction.operands.size(); ++at) {
      std::string mistake = CheckVector(instruction, at, 1);
      if (!mistake.empty()) return mistake;
    }
    return "";
  }
  const absl::string_view letters = instruction.form->operands;
  const auto marks = std::count(letters.begin(), letters.end(), '?');
  // The number of optional operands that are missing at the end.
  const auto absent = static_cast<ptrdiff_t>(letters.size()) - marks -
                      static_cast<ptrdiff_t>(instruction.operands.size());
  if (absent < 0) {
    return "too many operands";
  }
  if (absent > marks) {
    return "too few operands";
  }
  size_t at = 0;
  auto present = marks - absent;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == '?') {
      if (present-- <= 0) ++i;
      continue;
    }
    if (!Fits(instruction, instruction.operands[at], letters[i])) {
      return absl::StrCat("operand ", at + 1, " of '",
                          SpellingOf(instruction.opcode()),
                          "' has the wrong kind");
    }
    const bool moved = letters[i] == 'd' || letters[i] == 'a';
    const size_t elements = moved ? instruction.modifiers.Elements() : 1;
    const MatrixOperand matrix = MatrixOperandOf(instruction, at);
    std::string mistake = matrix.registers > 0
                              ? CheckMatrix(instruction, at, matrix)
                              : CheckVector(instruction, at, elements);
    if (!mistake.empty()) return mistake;
    ++at;
  }
  return "";
}

// A value that goes to or comes from memory is a vector of as many elements as
// .v2, .v4 or .v8 says: addresses are tested for these. Otherwise vectors stand
// only in mov, for the parts of a register.
std::string OperandChecker::CheckVector(const Instruction& instruction,
                                        size_t at, size_t elements) const {
  const Operand& operand = instruction.operands[at];
  const bool is_vector = operand.kind == Operand::Kind::kVector;
  if (operand.kind == Operand::Kind::kSink) return "";
  if (is_vector && instruction.opcode() == Opcode::kMov) {
    return CheckParts(instruction, at);
  }
  if (elements == 1 ? !is_vector
                    : is_vector && operand.elements.size() == elements) {
    return "";
  }
  return absl::StrCat(
      "operand ", at + 1, " of '", SpellingOf(instruction.opcode()),
      elements == 1
          ? "' cannot be a vector"
          : absl::StrCat("' must be a vector of ", elements, " elements"));
}

// The registers of a matrix stand in braces, even if there is only one. As
// ptxas requires, a register has the size of an element, or 32 bits for several
// elements, and a type that can hold the elements.
std::string OperandChecker::CheckMatrix(const Instruction& instruction,
                                        size_t at,
                                        const MatrixOperand& matrix) const {
  const Operand& operand = instruction.operands[at];
  if (operand.kind != Operand::Kind::kVector ||
      operand.elements.size() != matrix.registers) {
    return absl::StrCat(
        "operand ", at + 1, " of '", SpellingOf(instruction.opcode()),
        "' must name its registers in braces: ", matrix.registers);
  }
  const auto holds = [&](const Operand& element) {
    return HoldsElements(element, matrix.element);
  };
  if (std::all_of(operand.elements.begin(), operand.elements.end(), holds)) {
    return "";
  }
  return absl::StrCat("operand ", at + 1, " of '",
                      SpellingOf(instruction.opcode()),
                      "' names a register that cannot hold '.",
                      SpellingOf(matrix.element), "'");
}

// Returns true if an operand can stand for elements of this type. A constant
// can stand for one element only, not for several in a register.
bool OperandChecker::HoldsElements(const Operand& operand, Type element) const {
  using Kind = Operand::Kind;
  const bool is_float = element == Type::kF32 || element == Type::kF64;
  const bool is_whole = element == Type::kS32;
  switch (operand.kind) {
    case Kind::kSink:
      return true;
    case Kind::kInteger:
      return is_whole;
    case Kind::kFloat32:
    case Kind::kFloat64:
      return is_float;
    case Kind::kRegister:
    case Kind::kSpecial:
      break;
    default:
      return false;
  }
  const Type type = operand.kind == Kind::kSpecial
                        ? TypeOf(static_cast<Special>(operand.index))
                        : function_.registers[operand.index].type;
  if (BitsOf(type) != (element == Type::kF64 ? 64 : 32)) return false;
  if (type == Type::kB32 || type == Type::kB64) return true;
  switch (element) {
    case Type::kF16:
    case Type::kBF16:
    case Type::kTF32:
      return false;
    case Type::kF32:
    case Type::kF64:
      return IsFloat(type);
    case Type::kS32:
    case Type::kS8:
    case Type::kU8:
      return !IsFloat(type);
    default:
      return true;
  }
}

// The vector of a mov: all bits of the other operand, which is not a vector, in
// equal parts: one, two or four. ptxas refuses everything else, too.
std::string OperandChecker::CheckParts(const Instruction& instruction,
                                       size_t at) const {
  const Type type = instruction.type();
  const std::vector<Operand>& parts = instruction.operands[at].elements;
  const bool divides = (type == Type::kB16 || type == Type::kB32 ||
                        type == Type::kB64 || type == Type::kB128) &&
                       parts.size() <= 4 && parts.size() != 3;
  const int each = BitsOf(type) / static_cast<int>(parts.size());
  const auto fits = [&](const Operand& part) {
    return !part.IsRegister() ||
           BitsOf(function_.registers[part.index].type) == each;
  };
  const Operand& whole = instruction.operands[1 - at];
  if (divides && whole.kind != Operand::Kind::kVector &&
      std::all_of(parts.begin(), parts.end(), fits)) {
    return "";
  }
  return absl::StrCat("operand ", at + 1,
                      " of 'mov' must be the parts of the other operand");
}

bool OperandChecker::Fits(const Instruction& instruction,
                          const Operand& operand, char letter) const {
  using Kind = Operand::Kind;
  const bool wants_predicate = instruction.type() == Type::kPred;
  switch (letter) {
    case 'l':
      return operand.kind == Kind::kLabel;
    case 'm':
      return operand.memory;
    case 'i':
      return operand.kind == Kind::kInteger && !operand.memory;
    case 'p':
      return IsPredicate(function_, operand) || operand.kind == Kind::kInteger;
    case 'q':
      return operand.kind == Kind::kSink ||
             (operand.IsRegister() && IsPredicate(function_, operand));
    default:
      break;
  }
  if (operand.memory || operand.kind == Kind::kLabel ||
      operand.kind == Kind::kNone) {
    return false;
  }
  if (operand.kind == Kind::kVector) {
    return std::all_of(operand.elements.begin(), operand.elements.end(),
                       [&](const Operand& element) {
                         return element.kind != Kind::kVector &&
                                Fits(instruction, element, letter);
                       });
  }
  if (letter == 'u' || letter == 'y') {
    return operand.kind == Kind::kInteger ||
           (operand.kind != Kind::kSink &&
            (letter == 'y' || !IsPredicate(function_, operand)));
  }
  if (letter == 'd') {
    return operand.kind == Kind::kSink ||
           (operand.IsRegister() &&
            IsPredicate(function_, operand) == wants_predicate);
  }
  return operand.kind == Kind::kInteger ||
         (operand.kind != Kind::kSink &&
          IsPredicate(function_, operand) == wants_predicate);
}

// The stride of a wmma, from line to line of its matrix, must have 32 bits.
std::string OperandChecker::CheckStride(const Instruction& instruction) const {
  constexpr size_t kStride = 2;
  if (instruction.opcode() != Opcode::kWmma ||
      TileActionOf(instruction) == TileAction::kMultiply ||
      instruction.operands.size() <= kStride) {
    return "";
  }
  const Operand& stride = instruction.operands[kStride];
  return HoldsElements(stride, Type::kS32)
             ? ""
             : "the stride of 'wmma' must have 32 bits";
}

std::string OperandChecker::CheckNumbers(const Instruction& instruction) const {
  const bool sets_registers = instruction.opcode() == Opcode::kSetmaxnreg;
  if (sets_registers && !own_features_) {
    return "'setmaxnreg' needs a target such as sm_90a";
  }
  const bool is_bulk = instruction.modifiers.Has(Modifier::kBulk) &&
                       !instruction.modifiers.Has(Modifier::kWaitGroup);
  if (!sets_registers && !is_bulk) return "";
  const Range range = sets_registers ? kRegisterCounts : kBulkSizes;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind != Operand::Kind::kInteger || operand.memory) continue;
    if (operand.bits % range.step == 0 && operand.bits >= range.first &&
        operand.bits <= range.last) {
      continue;
    }
    return absl::StrCat("'", SpellingOf(instruction.opcode()),
                        "' takes a multiple of ", range.step, " from ",
                        range.first, " to ", range.last, ", not ",
                        static_cast<int64_t>(operand.bits));
  }
  return "";
}

}  // namespace holdfast::software::ptx
