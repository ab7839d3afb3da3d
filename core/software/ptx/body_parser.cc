// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "core/software/ptx/constant_expression.h"
#include "core/software/ptx/missing.h"
#include "core/software/ptx/module_parser.h"
#include "core/software/ptx/operand_checker.h"

namespace holdfast::software::ptx {
namespace {

// Beyond this a kernel could not have come from a compiler.
constexpr uint64_t kMaxRegisters = 1 << 20;

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

}  // namespace

bool ModuleParser::ParseBody(Function* function) {
  function_ = function;
  register_limit_ = 0;
  source_ = {};
  if (!tokens_.Expect('{')) return false;
  while (!scopes_.empty() && !tokens_.AtEnd()) ParseStatement();
  function_ = nullptr;
  if (!scopes_.empty()) return tokens_.Fail("missing '}' at the end");
  function_ = function;
  const bool ok = CheckLabels();
  function_ = nullptr;
  return ok;
}

void ModuleParser::CloseScope() {
  scopes_.pop_back();
  ranges_.pop_back();
  if (scopes_.empty()) return;
  const auto labels = std::move(labels_.back());
  labels_.pop_back();
  for (const auto& [name, index] : labels) {
    if (function_->labels[index].instruction >= 0) continue;
    const auto [outer, added] = labels_.back().emplace(name, index);
    if (!added) same_labels_.emplace_back(index, outer->second);
  }
}

void ModuleParser::ParseStatement() {
  if (tokens_.TakeIf('}')) return CloseScope();
  if (tokens_.TakeIf('{')) {
    scopes_.emplace_back();
    ranges_.emplace_back();
    labels_.emplace_back();
    return;
  }
  if (tokens_.TakeIf(';')) return;
  bool ok = true;
  const Token token = tokens_.Peek();
  if (token.kind == TokenKind::kWord && tokens_.Peek(1).Is(':')) {
    tokens_.Take();
    tokens_.Take();
    ok =
        tokens_.TakeIfDot("branchtargets") ? ParseBranchTargets(token.text)
        : tokens_.PeekIsDot("callprototype") || tokens_.PeekIsDot("calltargets")
            ? (scopes_.back()[std::string(token.text)].kind =
                   Operand::Kind::kSink,
               tokens_.SkipStatement(), true)
            : DefineLabel(token);
  } else if (tokens_.TakeIfDot("reg")) {
    ok = ParseRegisters();
  } else if (tokens_.TakeIfDot("loc")) {
    ParseLoc();
  } else if (tokens_.TakeIfDot("pragma")) {
    tokens_.SkipStatement();
  } else if (token.kind == TokenKind::kDotWord) {
    tokens_.Take();
    if (token.text == "local" || token.text == "param") {
      ok = ParseVariables(token.text == "local" ? Space::kLocal : Space::kParam,
                          {}, &function_->variables,
                          Operand::Kind::kLocalVariable, &scopes_.back());
    } else if (token.text == "shared" || token.text == "global" ||
               token.text == "const") {
      // The name belongs to this scope; the variable is one for all calls.
      const Space space = token.text == "shared"   ? Space::kShared
                          : token.text == "global" ? Space::kGlobal
                                                   : Space::kConst;
      ok = ParseVariables(space, {}, &module_->variables,
                          Operand::Kind::kVariable, &scopes_.back());
    } else {
      ok = tokens_.FailAt(token.location, absl::StrCat("unknown directive '.",
                                                       token.text, "'"));
    }
  } else {
    ok = ParseInstruction();
  }
  if (!ok) tokens_.SkipStatement();
}

// .loc file line column, and of inlined code
// ", function_name label, inlined_at file line column"
void ModuleParser::ParseLoc() {
  uint64_t numbers[2] = {0, 0};
  for (int i = 0; tokens_.Peek().kind == TokenKind::kInteger; ++i) {
    const uint64_t value = tokens_.Take().bits;
    if (i < 2) numbers[i] = std::min<uint64_t>(value, UINT32_MAX);
  }
  source_ = {static_cast<uint32_t>(numbers[0]),
             static_cast<uint32_t>(numbers[1])};
  if (!tokens_.PeekIs(',')) return;
  const int line = tokens_.Peek().location.line;
  while (!tokens_.AtEnd() && tokens_.Peek().location.line == line) {
    tokens_.Take();
  }
}

// .reg .b32 %r<7>, %t;
bool ModuleParser::ParseRegisters() {
  const Token word = tokens_.Take();
  const auto type = TypeFromSpelling(word.text);
  if (word.kind != TokenKind::kDotWord || !type) {
    return tokens_.FailAt(word.location, "expected the type of a register");
  }
  do {
    absl::string_view name;
    if (!tokens_.ExpectWord(&name)) return false;
    if (tokens_.TakeIf('<')) {
      uint64_t count = 0;
      if (!tokens_.ExpectInteger(&count) || !tokens_.Expect('>')) return false;
      register_limit_ += std::min(count, kMaxRegisters);
      if (register_limit_ >= kMaxRegisters) {
        return tokens_.Fail("too many registers");
      }
      ranges_.back()[std::string(name)] = {*type, count};
      continue;
    }
    Operand operand;
    operand.kind = Operand::Kind::kRegister;
    operand.index = static_cast<uint32_t>(function_->registers.size());
    if (!scopes_.back().emplace(std::string(name), operand).second) {
      return tokens_.Fail(absl::StrCat("'", name, "' is declared twice"));
    }
    function_->registers.push_back({std::string(name), *type});
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(';');
}

Operand ModuleParser::LabelNamed(absl::string_view name) {
  Operand operand;
  operand.kind = Operand::Kind::kLabel;
  auto [it, added] = labels_.back().emplace(
      std::string(name), static_cast<uint32_t>(function_->labels.size()));
  if (added) {
    function_->labels.push_back(
        {std::string(name), -1, tokens_.Peek().location});
  }
  operand.index = it->second;
  return operand;
}

bool ModuleParser::DefineLabel(const Token& name) {
  Label& label = function_->labels[LabelNamed(name.text).index];
  if (label.instruction >= 0) {
    return tokens_.FailAt(name.location, absl::StrCat("label '", name.text,
                                                      "' is defined twice"));
  }
  label.instruction = static_cast<int64_t>(function_->body.size());
  label.location = name.location;
  return true;
}

bool ModuleParser::ParseBranchTargets(absl::string_view label) {
  std::vector<uint32_t> targets;
  do {
    absl::string_view name;
    if (!tokens_.ExpectWord(&name)) return false;
    targets.push_back(LabelNamed(name).index);
  } while (tokens_.TakeIf(','));
  const Operand self = LabelNamed(label);
  function_->labels[self.index].instruction =
      static_cast<int64_t>(function_->body.size());
  function_->branch_targets.emplace_back(self.index, std::move(targets));
  return tokens_.Expect(';');
}

// Outer ones stand behind: backwards, each leads to what is known already.
void ModuleParser::UniteLabels() {
  std::vector<uint32_t> known(function_->labels.size());
  std::iota(known.begin(), known.end(), 0);
  for (size_t i = same_labels_.size(); i-- > 0;) {
    const auto [inner, outer] = same_labels_[i];
    known[inner] = known[outer];
    function_->labels[inner].instruction =
        function_->labels[known[outer]].instruction;
  }
  if (same_labels_.empty()) return;
  for (Instruction& instruction : function_->body) {
    for (Operand& operand : instruction.operands) {
      if (operand.kind == Operand::Kind::kLabel) {
        operand.index = known[operand.index];
      }
    }
  }
  for (auto& [label, targets] : function_->branch_targets) {
    for (uint32_t& target : targets) target = known[target];
  }
}

bool ModuleParser::CheckLabels() {
  UniteLabels();
  for (const Label& label : function_->labels) {
    if (label.instruction < 0) {
      return tokens_.FailAt(label.location, absl::StrCat("label '", label.name,
                                                         "' is not defined"));
    }
  }
  return true;
}

bool ModuleParser::ParseInstruction() {
  Instruction instruction;
  if (tokens_.PeekIs('@') && !ParseGuard(&instruction.guard)) return false;
  instruction.location = tokens_.Peek().location;
  instruction.source = source_;
  absl::string_view opcode;
  if (!tokens_.ExpectWord(&opcode)) return false;
  std::vector<absl::string_view> words;
  while (tokens_.Peek().kind == TokenKind::kDotWord) {
    words.push_back(tokens_.Take().text);
  }
  instruction.form = MatchForm(opcode, words, &instruction.modifiers);
  if (instruction.form == nullptr) {
    return ParseUnserved(instruction, opcode, words);
  }
  const bool is_call = instruction.opcode() == Opcode::kCall;
  if (!(is_call ? ParseCall(&instruction) : ParseOperands(&instruction)) ||
      !tokens_.Expect(';')) {
    return false;
  }
  UnwrapSingleElement(&instruction);
  const OperandChecker checker(*function_, module_->own_features);
  const std::string mistake = checker.Check(instruction);
  if (!mistake.empty()) return tokens_.FailAt(instruction.location, mistake);
  function_->body.push_back(std::move(instruction));
  return true;
}

bool ModuleParser::ParseUnserved(const Instruction& instruction,
                                 absl::string_view opcode,
                                 const std::vector<absl::string_view>& words) {
  const std::string spelling =
      absl::StrCat(opcode, words.empty() ? "" : ".", absl::StrJoin(words, "."));
  const absl::string_view missing = MissingPart(opcode, words);
  if (missing.empty()) {
    return tokens_.FailAt(
        instruction.location,
        absl::StrCat(
            IsOpcode(opcode) ? "unsupported form '" : "unknown instruction '",
            spelling, "'"));
  }
  if (function_->unserved.empty()) {
    function_->unserved = absl::StrCat(
        instruction.location.line, ":", instruction.location.column, ": '",
        spelling, "' is not served: the software device has no ", missing);
  }
  tokens_.SkipStatement();
  return true;
}

bool ModuleParser::ParseGuard(Operand* guard) {
  tokens_.Take();
  const bool negated = tokens_.TakeIf('!');
  if (!ParseName(guard)) return false;
  guard->negated = negated;
  return IsPredicate(*function_, *guard) ||
         tokens_.Fail("a guard must be a predicate");
}

bool ModuleParser::ParseOperands(Instruction* instruction) {
  if (tokens_.PeekIs(';')) return true;
  do {
    instruction->operands.emplace_back();
    if (!ParseOperand(&instruction->operands.back())) return false;
    // "d|p": two destinations in one place.
    if (tokens_.TakeIf('|')) {
      instruction->operands.emplace_back();
      if (!ParseOperand(&instruction->operands.back())) return false;
    }
  } while (tokens_.TakeIf(','));
  return true;
}

// call (result), callee, (arguments), prototype;
bool ModuleParser::ParseCall(Instruction* instruction) {
  if (tokens_.PeekIs('(')) {
    if (!ParseCallList(instruction) || !tokens_.Expect(',')) return false;
  }
  instruction->results = static_cast<uint32_t>(instruction->operands.size());
  instruction->operands.emplace_back();
  Operand callee;
  if (!ParseName(&callee)) return false;
  instruction->operands[instruction->results] = callee;
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

bool ModuleParser::ParseCallList(Instruction* instruction) {
  if (!tokens_.Expect('(')) return false;
  if (tokens_.TakeIf(')')) return true;
  do {
    instruction->operands.emplace_back();
    if (!ParseOperand(&instruction->operands.back())) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(')');
}

bool ModuleParser::ParseOperand(Operand* operand) {
  if (tokens_.PeekIs('[')) return ParseMemoryOperand(operand);
  if (tokens_.PeekIs('{')) return ParseVectorOperand(operand);
  if (ConstantExpression(tokens_).Begins()) return ParseInteger(operand);
  const bool negated = tokens_.TakeIf('!');
  const bool minus =
      tokens_.PeekIs('-') && tokens_.Peek(1).kind == TokenKind::kWord;
  if (minus) tokens_.Take();
  const TokenKind kind = tokens_.Peek().kind;
  const bool number = kind == TokenKind::kFloat32 ||
                      kind == TokenKind::kFloat64 || tokens_.PeekIs('-');
  if (number ? !ParseFloat(operand)
             : !ParseName(operand) || !ParseOffset(operand)) {
    return false;
  }
  operand->negated = negated;
  operand->minus = minus;
  return !negated || IsPredicate(*function_, *operand) ||
         tokens_.Fail("'!' needs a predicate");
}

bool ModuleParser::ParseInteger(Operand* operand) {
  operand->kind = Operand::Kind::kInteger;
  return ConstantExpression(tokens_).Parse(&operand->bits);
}

bool ModuleParser::ParseFloat(Operand* operand) {
  const bool negative = tokens_.TakeIf('-');
  const Token token = tokens_.Take();
  operand->bits = token.bits;
  switch (token.kind) {
    case TokenKind::kFloat32:
      operand->kind = Operand::Kind::kFloat32;
      operand->bits ^= uint64_t{negative} << 31;
      return true;
    case TokenKind::kFloat64:
      operand->kind = Operand::Kind::kFloat64;
      operand->bits ^= uint64_t{negative} << 63;
      return true;
    default:
      return tokens_.FailAt(token.location, "expected a number");
  }
}

bool ModuleParser::ParseMemoryOperand(Operand* operand) {
  tokens_.Take();
  if (ConstantExpression(tokens_).Begins()) {
    if (!ParseInteger(operand)) return false;
  } else if (!ParseName(operand) || !ParseOffset(operand)) {
    return false;
  }
  operand->memory = true;
  return tokens_.Expect(']');
}

bool ModuleParser::ParseOffset(Operand* operand) {
  while (tokens_.PeekIs('+') || tokens_.PeekIs('-')) {
    const bool negative = tokens_.Take().Is('-');
    uint64_t value = 0;
    if (!ConstantExpression(tokens_).ParseTerm(&value)) return false;
    operand->offset =
        static_cast<int64_t>(static_cast<uint64_t>(operand->offset) +
                             (negative ? 0 - value : value));
  }
  return true;
}

bool ModuleParser::ParseVectorOperand(Operand* operand) {
  tokens_.Take();
  operand->kind = Operand::Kind::kVector;
  do {
    if (tokens_.PeekIs('{') || operand->elements.size() >= 32) {
      return tokens_.Fail("bad vector operand");
    }
    operand->elements.emplace_back();
    if (!ParseOperand(&operand->elements.back())) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect('}');
}

bool ModuleParser::ParseName(Operand* operand) {
  if (tokens_.TakeIf('_')) {
    operand->kind = Operand::Kind::kSink;
    return true;
  }
  const Token word = tokens_.Peek();
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  if (name == "_") {
    operand->kind = Operand::Kind::kSink;
    return true;
  }
  if (tokens_.Peek().kind == TokenKind::kDotWord) {
    return ParseDottedName(word, operand);
  }
  if (FindName(name, operand)) return true;
  if (name[0] == '%') {
    return tokens_.FailAt(word.location,
                          absl::StrCat("'", name, "' is not declared"));
  }
  *operand = LabelNamed(name);
  return true;
}

bool ModuleParser::ParseDottedName(const Token& name, Operand* operand) {
  const std::string full = absl::StrCat(name.text, ".", tokens_.Peek().text);
  if (FindName(full, operand)) {
    tokens_.Take();
    return true;
  }
  if (FindName(name.text, operand) && operand->IsRegister() &&
      BitsOf(function_->registers[operand->index].type) == 32) {
    return ParseSelector(&operand->selector);
  }
  return tokens_.FailAt(name.location,
                        absl::StrCat("'", full, "' is not declared"));
}

// The parts of a wider selector are written from the highest to the lowest.
bool ModuleParser::ParseSelector(Selector* selector) {
  const Token word = tokens_.Take();
  const absl::string_view digits = word.text.substr(1);
  selector->halves = word.text[0] == 'h';
  const bool valid = (selector->halves || word.text[0] == 'b') &&
                     !digits.empty() && digits.size() <= 4 &&
                     std::all_of(digits.begin(), digits.end(),
                                 [](char c) { return c >= '0' && c <= '7'; });
  if (!valid) {
    return tokens_.FailAt(
        word.location,
        absl::StrCat("'.", word.text, "' is no part of a register"));
  }
  for (const char digit : digits) {
    std::copy_backward(selector->parts, selector->parts + 3,
                       selector->parts + 4);
    selector->parts[0] = static_cast<uint8_t>(digit - '0');
    ++selector->count;
  }
  return true;
}

bool ModuleParser::FindName(absl::string_view name, Operand* operand) {
  if (FindRegister(name, operand)) return true;
  if (auto special = SpecialFromSpelling(name)) {
    operand->kind = Operand::Kind::kSpecial;
    operand->index = static_cast<uint32_t>(*special);
    return true;
  }
  auto it = globals_.find(std::string(name));
  if (it == globals_.end()) return false;
  *operand = it->second;
  return true;
}

bool ModuleParser::FindRegister(absl::string_view name, Operand* operand) {
  // %r12: range %r, number 12.
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
    --digits;
  }
  uint64_t number = 0;
  const bool numbered =
      digits < name.size() && absl::SimpleAtoi(name.substr(digits), &number);
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto it = scopes_[i].find(std::string(name));
    if (it != scopes_[i].end()) {
      *operand = it->second;
      return true;
    }
    if (!numbered) continue;
    auto range = ranges_[i].find(std::string(name.substr(0, digits)));
    if (range == ranges_[i].end() || number >= range->second.count) continue;
    operand->kind = Operand::Kind::kRegister;
    operand->index = static_cast<uint32_t>(function_->registers.size());
    function_->registers.push_back({std::string(name), range->second.type});
    scopes_[i].emplace(std::string(name), *operand);
    return true;
  }
  return false;
}

}  // namespace holdfast::software::ptx
