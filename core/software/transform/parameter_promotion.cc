// SPDX-License-Identifier: Apache-2.0
//
// The accesses of a variable decide. If any two overlap without being alike, or
// its address is taken, its bytes have to stay together in memory. Otherwise
// each piece becomes a register: loads and stores become moves, which later
// passes and LLVM remove.
#include "core/software/transform/parameter_promotion.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast::software::transform {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

// One passed variable: its pieces by offset.
struct Passed {
  bool in_registers = true;
  std::map<int64_t, int> bytes;  // of each piece
  std::map<int64_t, uint32_t> register_of;
};

bool IsParameterAccess(const Instruction& instruction) {
  const auto& words = instruction.modifiers;
  return (instruction.opcode() == Opcode::kLd ||
          instruction.opcode() == Opcode::kSt) &&
         (words.Has(Modifier::kParam) || words.Has(Modifier::kParamFunc));
}

size_t PiecesOf(const Operand& value) {
  return value.kind == Operand::Kind::kVector ? value.elements.size() : 1;
}

const Operand& PieceOf(const Operand& value, size_t i) {
  return value.kind == Operand::Kind::kVector ? value.elements[i] : value;
}

// In three steps: See collects the pieces of every variable, Decide gives
// registers to those whose pieces do not overlap, and Rewrite replaces the
// accesses. The kernel's own parameters are left alone, as they are memory of
// the launch.
class Placement {
 public:
  explicit Placement(Function* function) : function_(function) {
    for (uint32_t i = 0; i < function->variables.size(); ++i) {
      if (function->variables[i].space == Space::kParam) passed_[i] = {};
    }
    for (const Operand& formal : function->parameters)
      passed_.erase(formal.index);
  }

  void Run() {
    if (passed_.empty()) return;
    for (const Instruction& instruction : function_->body) See(instruction);
    for (auto& [variable, passed] : passed_) Decide(variable, &passed);
    std::vector<Instruction> body;
    // Where each instruction has moved to, for the labels.
    std::vector<int64_t> moved;
    for (Instruction& instruction : function_->body) {
      moved.push_back(static_cast<int64_t>(body.size()));
      Rewrite(std::move(instruction), &body);
    }
    moved.push_back(static_cast<int64_t>(body.size()));
    function_->body = std::move(body);
    for (ptx::Label& label : function_->labels) {
      if (label.instruction >= 0) label.instruction = moved[label.instruction];
    }
  }

 private:
  Passed* Find(const Operand& operand) {
    if (operand.kind != Operand::Kind::kLocalVariable) return nullptr;
    auto it = passed_.find(operand.index);
    return it == passed_.end() ? nullptr : &it->second;
  }

  // A call of a function that stays passes the whole variable, which is a piece
  // at offset 0. Any other instruction that names it has taken its address.
  void See(const Instruction& instruction) {
    if (IsParameterAccess(instruction)) {
      const size_t at = instruction.opcode() == Opcode::kLd ? 1 : 0;
      const int bytes = ptx::BytesOf(instruction.type());
      if (Passed* passed = Find(instruction.operands[at])) {
        const Operand& value = instruction.operands[1 - at];
        for (size_t i = 0; i < PiecesOf(value); ++i) {
          SeePiece(
              passed,
              instruction.operands[at].offset + static_cast<int64_t>(i) * bytes,
              bytes);
        }
      }
      return;
    }
    for (const Operand& operand : instruction.operands) {
      Passed* passed = Find(operand);
      if (passed == nullptr) continue;
      if (instruction.opcode() == Opcode::kCall) {
        SeePiece(passed, 0,
                 static_cast<int>(function_->variables[operand.index].bytes));
      } else {
        passed->in_registers = false;  // its address is taken
      }
    }
  }

  // One size at each offset, of 2, 4 or 8 bytes: there are no registers of
  // other sizes.
  static void SeePiece(Passed* passed, int64_t offset, int bytes) {
    auto [it, added] = passed->bytes.emplace(offset, bytes);
    const bool whole = bytes == 2 || bytes == 4 || bytes == 8;
    if (!whole || (!added && it->second != bytes)) passed->in_registers = false;
  }

  // Pieces by ascending offset: one that begins before the end of the one in
  // front overlaps it.
  void Decide(uint32_t index, Passed* passed) {
    int64_t end = 0;
    for (const auto& [offset, bytes] : passed->bytes) {
      if (offset < end) passed->in_registers = false;
      end = offset + bytes;
    }
    ptx::Variable& variable = function_->variables[index];
    if (!passed->in_registers) {
      variable.space = Space::kLocal;
      return;
    }
    variable.space = Space::kRegister;
    for (const auto& [offset, bytes] : passed->bytes) {
      passed->register_of[offset] =
          static_cast<uint32_t>(function_->registers.size());
      function_->registers.push_back({absl::StrCat(variable.name, "+", offset),
                                      bytes == 2   ? Type::kB16
                                      : bytes == 4 ? Type::kB32
                                                   : Type::kB64});
    }
  }

  static Operand Register(uint32_t index) {
    Operand operand;
    operand.kind = Operand::Kind::kRegister;
    operand.index = index;
    return operand;
  }

  void Rewrite(Instruction instruction, std::vector<Instruction>* body) {
    if (instruction.opcode() == Opcode::kCall) {
      for (Operand& operand : instruction.operands) {
        Passed* passed = Find(operand);
        if (passed != nullptr && passed->in_registers) {
          operand = Register(passed->register_of.at(0));
        }
      }
    }
    const size_t at = instruction.opcode() == Opcode::kLd ? 1 : 0;
    Passed* passed = IsParameterAccess(instruction)
                         ? Find(instruction.operands[at])
                         : nullptr;
    if (passed == nullptr) {
      body->push_back(std::move(instruction));
    } else if (!passed->in_registers) {
      ToLocal(&instruction);
      body->push_back(std::move(instruction));
    } else {
      Move(instruction, at, *passed, body);
    }
  }

  // A variable that stays in memory is a local one of the thread: same
  // accesses, other space.
  static void ToLocal(Instruction* instruction) {
    for (Modifier& word : instruction->modifiers.words) {
      if (word == Modifier::kParam || word == Modifier::kParamFunc) {
        word = Modifier::kLocal;
      }
    }
  }

  // A load or store of a vector becomes one move for each element.
  static void Move(const Instruction& access, size_t at, const Passed& passed,
                   std::vector<Instruction>* body) {
    const Operand& place = access.operands[at];
    const Operand& value = access.operands[1 - at];
    const int bytes = ptx::BytesOf(access.type());
    for (size_t i = 0; i < PiecesOf(value); ++i) {
      Instruction move;
      const absl::string_view word = ptx::SpellingOf(access.type());
      move.form = ptx::MatchForm("mov", {&word, 1}, &move.modifiers);
      if (move.form == nullptr) {
        // f16 and bf16 have no mov of their own.
        const absl::string_view bits = "b16";
        move.form = ptx::MatchForm("mov", {&bits, 1}, &move.modifiers);
      }
      move.guard = access.guard;
      move.location = access.location;
      const Operand kept = Register(passed.register_of.at(
          place.offset + static_cast<int64_t>(i) * bytes));
      const Operand& piece = PieceOf(value, i);
      if (at == 1) {
        move.operands = {piece, kept};
      } else {
        move.operands = {kept, piece};
      }
      body->push_back(std::move(move));
    }
  }

  Function* function_;
  std::map<uint32_t, Passed> passed_;
};

}  // namespace

void PromoteParameters(Function* function) { Placement(function).Run(); }

}  // namespace holdfast::software::transform
