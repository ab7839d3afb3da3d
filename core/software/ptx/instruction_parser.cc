// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/instruction_parser.h"

#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "core/software/ptx/missing.h"

namespace holdfast::software::ptx {
namespace {

// The one element that ld, ldu and st move may stand in braces, as Triton
// writes it: "ld.global.b32 {%r1}, [%rd1]".
void UnwrapSingleElement(Instruction* instruction) {
  const Opcode opcode = instruction->opcode();
  if (opcode != Opcode::kLd && opcode != Opcode::kLdu &&
      opcode != Opcode::kSt) {
    return;
  }
  if (instruction->modifiers.Elements() != 1) return;
  for (Operand& operand : instruction->operands) {
    if (operand.elements.size() != 1 ||
        operand.elements[0].kind == Operand::Kind::kSink) {
      continue;
    }
    Operand element = std::move(operand.elements[0]);
    operand = std::move(element);
  }
}

// ld, ldu and st access an element of an array that stands without brackets:
// "ld.shared.f32 %f1, a[2]". In other instructions it is an address.
void AccessElements(Instruction* instruction) {
  const Opcode opcode = instruction->opcode();
  const bool accesses =
      opcode == Opcode::kLd || opcode == Opcode::kLdu || opcode == Opcode::kSt;
  for (Operand& operand : instruction->operands) {
    if (accesses && operand.element) operand.memory = true;
  }
}

}  // namespace

bool InstructionParser::Parse(SourceLine source) {
  Instruction instruction;
  if (!ParseGuard(&instruction.guard)) return false;
  instruction.location = tokens_.Peek().location;
  instruction.source = source;
  absl::string_view opcode;
  if (!tokens_.ExpectWord(&opcode)) return false;
  std::vector<absl::string_view> words;
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    words.push_back(tokens_.Take().text);
  }
  instruction.form = MatchForm(opcode, words, &instruction.modifiers);
  if (instruction.form == nullptr) {
    return ParseUnserved(instruction.location, opcode, words);
  }
  const bool is_call = instruction.opcode() == Opcode::kCall;
  if (!(is_call ? ParseCall(&instruction) : ParseOperands(&instruction)) ||
      !tokens_.Expect(';')) {
    return false;
  }
  UnwrapSingleElement(&instruction);
  AccessElements(&instruction);
  const std::string mistake = checker_.Check(instruction);
  if (!mistake.empty()) return tokens_.FailAt(instruction.location, mistake);
  function_.body.push_back(std::move(instruction));
  return true;
}

bool InstructionParser::ParseUnserved(
    Location location, absl::string_view opcode,
    const std::vector<absl::string_view>& words) {
  const std::string spelling =
      absl::StrCat(opcode, words.empty() ? "" : ".", absl::StrJoin(words, "."));
  const absl::string_view missing = MissingPart(opcode, words);
  if (missing.empty()) {
    return tokens_.FailAt(
        location, absl::StrCat(IsOpcode(opcode) ? "unsupported form '"
                                                : "unknown instruction '",
                               spelling, "'"));
  }
  if (function_.unserved.empty()) {
    function_.unserved =
        absl::StrCat(location.line, ":", location.column, ": '", spelling,
                     "' is not served: the software device has no ", missing);
  }
  tokens_.SkipStatement();
  return true;
}

bool InstructionParser::ParseGuard(Operand* guard) {
  if (!tokens_.TakeIf('@')) return true;
  const bool negated = tokens_.TakeIf('!');
  if (!operands_.ParseName(guard)) return false;
  guard->negated = negated;
  return IsPredicate(function_, *guard) ||
         tokens_.Fail("a guard must be a predicate");
}

bool InstructionParser::ParseOperands(Instruction* instruction) {
  if (tokens_.PeekIs(';')) return true;
  do {
    if (!ParseOperand(instruction)) return false;
    // "d|p": two destinations in one place.
    if (tokens_.TakeIf('|') && !ParseOperand(instruction)) return false;
  } while (tokens_.TakeIf(','));
  return true;
}

// call (result), callee, (arguments), prototype;
bool InstructionParser::ParseCall(Instruction* instruction) {
  if (tokens_.PeekIs('(')) {
    if (!ParseCallList(instruction) || !tokens_.Expect(',')) return false;
  }
  instruction->results = static_cast<uint32_t>(instruction->operands.size());
  Operand callee;
  if (!operands_.ParseName(&callee)) return false;
  instruction->operands.push_back(callee);
  if (tokens_.TakeIf(',') && tokens_.PeekIs('(')) {
    if (!ParseCallList(instruction)) return false;
    if (tokens_.TakeIf(',')) tokens_.Take();
  }
  instruction->arguments = static_cast<uint32_t>(instruction->operands.size() -
                                                 instruction->results - 1);
  const bool callable =
      callee.kind == Operand::Kind::kFunction || callee.IsRegister();
  return callable || tokens_.Fail("the callee must be a function");
}

bool InstructionParser::ParseCallList(Instruction* instruction) {
  if (!tokens_.Expect('(')) return false;
  if (tokens_.TakeIf(')')) return true;
  do {
    if (!ParseOperand(instruction)) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(')');
}

bool InstructionParser::ParseOperand(Instruction* instruction) {
  instruction->operands.emplace_back();
  return operands_.Parse(&instruction->operands.back());
}

}  // namespace holdfast::software::ptx
