// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/initializer_parser.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/software/ptx/constant_expression.h"

namespace holdfast::software::ptx {
namespace {

// Appends the low bytes of `value`, as many as the variable's type has.
void Append(Variable* variable, uint64_t value) {
  const size_t at = variable->initial.size();
  const size_t bytes = BytesOf(variable->type);
  variable->initial.resize(at + bytes);
  std::memcpy(variable->initial.data() + at, &value,
              std::min(bytes, sizeof(value)));
}

}  // namespace

bool InitializerParser::Parse(Variable* variable) {
  next_byte_ = 0;
  return ParseValues(variable) && (next_byte_ == 0 || FailForBytes());
}

bool InitializerParser::ParseValues(Variable* variable) {
  if (!tokens_.PeekIs('{')) return ParseValue(variable);
  int depth = 0;
  do {
    if (tokens_.TakeIf('{')) {
      ++depth;
    } else if (tokens_.TakeIf('}')) {
      --depth;
    } else if (tokens_.TakeIf(',')) {
      continue;
    } else if (tokens_.AtEnd() || !ParseValue(variable)) {
      return tokens_.Fail("bad initial value");
    }
  } while (depth > 0);
  return true;
}

bool InitializerParser::ParseValue(Variable* variable) {
  uint64_t number = 0;
  if (tokens_.Peek().kind == TokenKind::kInteger && tokens_.Peek(1).Is('(')) {
    return ParseByteOfAddress(variable);
  }
  if (next_byte_ != 0) return FailForBytes();
  if (!ConstantExpression(tokens_).Begins()) return ParseFloat(variable);
  if (!ConstantExpression(tokens_).Parse(&number)) return false;
  Append(variable, number);
  return true;
}

// A sign in front of a name means nothing.
bool InitializerParser::ParseFloat(Variable* variable) {
  const bool negative = tokens_.TakeIf('-');
  if (!negative) tokens_.TakeIf('+');
  const Token& token = tokens_.Peek();
  if (token.kind == TokenKind::kWord) return ParseAddress(variable);
  uint64_t bits = token.bits;
  if (token.kind == TokenKind::kFloat64 && variable->type == Type::kF32) {
    const auto wide = std::bit_cast<double>(bits);
    bits = std::bit_cast<uint32_t>(static_cast<float>(negative ? -wide : wide));
  } else if (token.kind == TokenKind::kFloat64) {
    bits ^= uint64_t{negative} << 63;
  } else if (token.kind != TokenKind::kFloat32) {
    return tokens_.Fail("expected an initial value");
  }
  tokens_.Take();
  Append(variable, bits);
  return true;
}

bool InitializerParser::ParseAddress(Variable* variable) {
  Relocation relocation;
  relocation.offset = variable->initial.size();
  if (!ParseSum(&relocation)) return false;
  if (BytesOf(variable->type) != 8) {
    return tokens_.Fail("an address needs a 64-bit element");
  }
  variable->relocations.push_back(relocation);
  Append(variable, 0);
  return true;
}

bool InitializerParser::ParseSum(Relocation* relocation) {
  if (!ParseSymbol(relocation)) return false;
  if (!tokens_.PeekIs('+') && !tokens_.PeekIs('-')) return true;
  const bool negative = tokens_.Take().Is('-');
  uint64_t addend = 0;
  if (!ConstantExpression(tokens_).ParseTerm(&addend)) return false;
  relocation->addend = static_cast<int64_t>(negative ? 0 - addend : addend);
  return true;
}

// The eight bytes become one relocation, at the place of the first.
bool InitializerParser::ParseByteOfAddress(Variable* variable) {
  const uint64_t mask = tokens_.Take().bits;
  tokens_.Take();
  Relocation relocation;
  relocation.offset = variable->initial.size() - next_byte_;
  if (!ParseSum(&relocation) || !tokens_.Expect(')')) return false;
  if (next_byte_ == 0) variable->relocations.push_back(relocation);
  const Relocation& whole = variable->relocations.back();
  if (BytesOf(variable->type) != 1 ||
      mask != uint64_t{0xFF} << 8 * next_byte_ ||
      relocation.index != whole.index ||
      relocation.function != whole.function ||
      relocation.addend != whole.addend) {
    return FailForBytes();
  }
  next_byte_ = (next_byte_ + 1) % 8;
  Append(variable, 0);
  return true;
}

bool InitializerParser::FailForBytes() {
  return tokens_.Fail(
      "the bytes of an address must be all eight, the lowest first");
}

bool InitializerParser::ParseSymbol(Relocation* relocation) {
  absl::string_view name;
  if (!tokens_.ExpectWord(&name)) return false;
  if (name == "generic" && tokens_.TakeIf('(')) {
    relocation->generic = true;
    if (!tokens_.ExpectWord(&name) || !tokens_.Expect(')')) return false;
  }
  const auto found = globals_.find(name);
  if (found == globals_.end()) {
    return tokens_.Fail(absl::StrCat("'", name, "' is not declared"));
  }
  relocation->function = found->second.kind == Operand::Kind::kFunction;
  relocation->index = found->second.index;
  return true;
}

}  // namespace holdfast::software::ptx
