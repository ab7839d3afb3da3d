// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/operand_parser.h"

#include <algorithm>
#include <string>

#include "core/software/ptx/constant_expression.h"
#include "core/software/ptx/operand_checker.h"

namespace holdfast::software::ptx {

bool OperandParser::Parse(Operand* operand) {
  if (tokens_.PeekIs('[')) return ParseMemory(operand);
  if (tokens_.PeekIs('{')) return ParseVector(operand);
  if (ConstantExpression(tokens_).Begins()) return ParseInteger(operand);
  return ParseSigned(operand);
}

bool OperandParser::ParseSigned(Operand* operand) {
  const bool negated = tokens_.TakeIf('!');
  const bool minus =
      tokens_.PeekIs('-') && tokens_.Peek(1).kind == TokenKind::kWord;
  if (minus) tokens_.Take();
  const TokenKind kind = tokens_.Peek().kind;
  const bool number = kind == TokenKind::kFloat32 ||
                      kind == TokenKind::kFloat64 || tokens_.PeekIs('-');
  if (number ? !ParseFloat(operand) : !ParseName(operand)) return false;
  if (!number &&
      !(tokens_.PeekIs('[') ? ParseIndex(operand) : ParseOffset(operand))) {
    return false;
  }
  operand->negated = negated;
  operand->minus = minus;
  return !negated || IsPredicate(function_, *operand) ||
         tokens_.Fail("'!' needs a predicate");
}

bool OperandParser::ParseInteger(Operand* operand) {
  operand->kind = Operand::Kind::kInteger;
  return ConstantExpression(tokens_).Parse(&operand->bits);
}

bool OperandParser::ParseFloat(Operand* operand) {
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

bool OperandParser::ParseMemory(Operand* operand) {
  tokens_.Take();
  if (ConstantExpression(tokens_).Begins()) {
    if (!ParseInteger(operand)) return false;
  } else if (!ParseName(operand) || !ParseOffset(operand)) {
    return false;
  }
  operand->memory = true;
  return tokens_.Expect(']');
}

bool OperandParser::ParseOffset(Operand* operand) {
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

bool OperandParser::ParseIndex(Operand* operand) {
  const bool local = operand->kind == Operand::Kind::kLocalVariable;
  if (!local && operand->kind != Operand::Kind::kVariable) {
    return tokens_.Fail("only an array can have an index");
  }
  tokens_.Take();
  const Variable& array = local ? function_.variables[operand->index]
                                : module_.variables[operand->index];
  if (!ConstantExpression(tokens_).Begins()) {
    return tokens_.Fail(absl::StrCat(
        "the index of '", array.name,
        "' is not a constant: add it to the address in a register"));
  }
  uint64_t index = 0;
  if (!ConstantExpression(tokens_).Parse(&index)) return false;
  operand->element = true;
  operand->offset = static_cast<int64_t>(index * BytesOf(array.type));
  return tokens_.Expect(']');
}

bool OperandParser::ParseVector(Operand* operand) {
  tokens_.Take();
  operand->kind = Operand::Kind::kVector;
  do {
    if (tokens_.PeekIs('{') || operand->elements.size() >= 32) {
      return tokens_.Fail("bad vector operand");
    }
    operand->elements.emplace_back();
    if (!Parse(&operand->elements.back())) return false;
  } while (tokens_.TakeIf(','));
  return tokens_.Expect('}');
}

bool OperandParser::ParseName(Operand* operand) {
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
  if (names_.Find(name, operand)) return true;
  if (name[0] == '%') {
    return tokens_.FailAt(word.location,
                          absl::StrCat("'", name, "' is not declared"));
  }
  *operand = labels_.Named(name, tokens_.Peek().location);
  return true;
}

bool OperandParser::ParseDottedName(const Token& name, Operand* operand) {
  const std::string full = absl::StrCat(name.text, ".", tokens_.Peek().text);
  if (names_.Find(full, operand)) {
    tokens_.Take();
    return true;
  }
  if (names_.Find(name.text, operand) && operand->IsRegister() &&
      BitsOf(function_.registers[operand->index].type) == 32) {
    return ParseSelector(&operand->selector);
  }
  return tokens_.FailAt(name.location,
                        absl::StrCat("'", full, "' is not declared"));
}

// The parts of a wider selector are written from the highest to the lowest.
bool OperandParser::ParseSelector(Selector* selector) {
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

}  // namespace holdfast::software::ptx
