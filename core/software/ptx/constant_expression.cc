// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/constant_expression.h"

#include "absl/strings/string_view.h"

namespace holdfast::software::ptx {
namespace {

constexpr int kMostNested = 64;
constexpr int kConditional = 0;
constexpr int kProduct = 10;

bool IsComparison(absl::string_view text) {
  return text == "<" || text == ">" || text == "<=" || text == ">=" ||
         text == "==" || text == "!=";
}

template <typename T>
bool Compared(absl::string_view text, T a, T b) {
  return text == "<"    ? a < b
         : text == ">"  ? a > b
         : text == "<=" ? a <= b
         : text == ">=" ? a >= b
         : text == "==" ? a == b
                        : a != b;
}

uint64_t Shifted(bool left, bool is_unsigned, uint64_t value, uint64_t count) {
  const bool negative = !is_unsigned && (value >> 63) != 0;
  if (count > 63) return !left && negative ? ~uint64_t{0} : 0;
  if (left) return value << count;
  return is_unsigned
             ? value >> count
             : static_cast<uint64_t>(static_cast<int64_t>(value) >> count);
}

// REQUIRES: b is not 0.
uint64_t Divided(bool remainder, bool is_unsigned, uint64_t a, uint64_t b) {
  if (is_unsigned) return remainder ? a % b : a / b;
  if (b == ~uint64_t{0}) return remainder ? 0 : 0 - a;
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

}  // namespace

bool ConstantExpression::Begins() const {
  size_t ahead = 0;
  const auto next = [&]() -> const Token& { return tokens_.Peek(ahead); };
  while (next().Is('-') || next().Is('+') || next().Is('!')) ++ahead;
  return next().kind == TokenKind::kInteger || next().Is('(') ||
         next().Is('~') ||
         (next().kind == TokenKind::kWord && next().text == "WARP_SZ");
}

bool ConstantExpression::Parse(uint64_t* bits) {
  Number number;
  if (!ParseConditional(&number)) return false;
  *bits = number.bits;
  return true;
}

bool ConstantExpression::ParseTerm(uint64_t* bits) {
  Number number;
  if (!ParseBinary(kProduct, &number)) return false;
  *bits = number.bits;
  return true;
}

// The two characters of an operator stand side by side.
ConstantExpression::Operator ConstantExpression::PeekOperator() const {
  static constexpr Operator kOperators[] = {
      {"||", 1},       {"&&", 2},       {"==", 6},      {"!=", 6}, {"<=", 7},
      {">=", 7},       {"<<", 8},       {">>", 8},      {"|", 3},  {"^", 4},
      {"&", 5},        {"<", 7},        {">", 7},       {"+", 9},  {"-", 9},
      {"*", kProduct}, {"/", kProduct}, {"%", kProduct}};
  const Token& first = tokens_.Peek();
  const Token& second = tokens_.Peek(1);
  const bool together = first.location.line == second.location.line &&
                        first.location.column + 1 == second.location.column;
  for (const Operator& candidate : kOperators) {
    const absl::string_view text = candidate.text;
    if (first.text != text.substr(0, 1)) continue;
    if (text.size() == 1 || (together && second.text == text.substr(1))) {
      return candidate;
    }
  }
  return {};
}

bool ConstantExpression::ParseConditional(Number* number) {
  if (!ParseBinary(kConditional + 1, number)) return false;
  if (!tokens_.TakeIf('?')) return true;
  Number yes, no;
  ++depth_;
  const bool parsed =
      ParseConditional(&yes) && tokens_.Expect(':') && ParseConditional(&no);
  --depth_;
  if (!parsed) return false;
  *number = number->bits != 0 ? yes : no;
  return true;
}

bool ConstantExpression::ParseBinary(int least, Number* number) {
  if (!ParseUnary(number)) return false;
  for (Operator next = PeekOperator();
       next.precedence != 0 && next.precedence >= least;
       next = PeekOperator()) {
    for (size_t i = 0; next.text[i] != 0; ++i) tokens_.Take();
    Number right;
    if (!ParseBinary(next.precedence + 1, &right) ||
        !Apply(next, right, number)) {
      return false;
    }
  }
  return true;
}

bool ConstantExpression::ParseUnary(Number* number) {
  if (depth_ >= kMostNested) return tokens_.Fail("too deeply nested");
  ++depth_;
  const bool parsed = ParseSigned(number);
  --depth_;
  return parsed;
}

bool ConstantExpression::ParseSigned(Number* number) {
  if (tokens_.TakeIf('+')) return ParseUnary(number);
  const bool minus = tokens_.TakeIf('-');
  const bool inverts = !minus && tokens_.TakeIf('~');
  const bool denies = !minus && !inverts && tokens_.TakeIf('!');
  if (!minus && !inverts && !denies) return ParsePrimary(number);
  if (!ParseUnary(number)) return false;
  number->bits = minus     ? 0 - number->bits
                 : inverts ? ~number->bits
                           : uint64_t{number->bits == 0};
  return true;
}

bool ConstantExpression::ParsePrimary(Number* number) {
  if (tokens_.TakeIf('(')) return ParseParentheses(number);
  if (tokens_.Peek().kind == TokenKind::kWord &&
      tokens_.Peek().text == "WARP_SZ") {
    tokens_.Take();
    number->bits = 32;
    return true;
  }
  if (!tokens_.ExpectInteger(&number->bits)) return false;
  number->is_unsigned = (number->bits >> 63) != 0;
  return true;
}

// A cast, or an expression.
bool ConstantExpression::ParseParentheses(Number* number) {
  const bool to_unsigned = tokens_.PeekIsDot("u64");
  if (!to_unsigned && !tokens_.PeekIsDot("s64")) {
    return ParseConditional(number) && tokens_.Expect(')');
  }
  tokens_.Take();
  if (!tokens_.Expect(')') || !ParseUnary(number)) return false;
  number->is_unsigned = to_unsigned;
  return true;
}

bool ConstantExpression::Apply(const Operator& by, const Number& right,
                               Number* left) {
  const absl::string_view text = by.text;
  const uint64_t a = left->bits, b = right.bits;
  const bool is_unsigned = left->is_unsigned || right.is_unsigned;
  if ((text == "/" || text == "%") && b == 0) {
    return tokens_.Fail("division by zero");
  }
  if (text == "<<" || text == ">>") {
    left->bits = Shifted(text == "<<", left->is_unsigned, a, b);
    return true;
  }
  if (IsComparison(text)) {
    *left = {is_unsigned ? Compared(text, a, b)
                         : Compared(text, static_cast<int64_t>(a),
                                    static_cast<int64_t>(b)),
             false};
    return true;
  }
  if (text == "&&" || text == "||") {
    *left = {text == "&&" ? a != 0 && b != 0 : a != 0 || b != 0, false};
    return true;
  }
  const uint64_t result = text == "*"   ? a * b
                          : text == "+" ? a + b
                          : text == "-" ? a - b
                          : text == "&" ? a & b
                          : text == "|" ? a | b
                          : text == "^"
                              ? a ^ b
                              : Divided(text == "%", is_unsigned, a, b);
  *left = {result, is_unsigned};
  return true;
}

}  // namespace holdfast::software::ptx
