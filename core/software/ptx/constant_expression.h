// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_CONSTANT_EXPRESSION_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_CONSTANT_EXPRESSION_H_

#include <cstdint>

#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// Reads integer constants that PTX writes as expressions with the operators of
// C: "8", "-(1 + 2) * 3", "WARP_SZ - 1", "(.u64)1 << 4". Numbers have 64 bits.
// A number that is no .s64 is a .u64, and arithmetic with a .u64 gives a .u64.
class ConstantExpression {
 public:
  // `tokens` must outlive this object.
  explicit ConstantExpression(TokenStream& tokens) : tokens_(tokens) {}

  // Returns true if the next token can only begin such an expression.
  bool Begins() const;
  // Parse and ParseTerm report an error and return false if there is no such
  // expression. ParseTerm stops in front of an operator that binds no closer
  // than + and -.
  bool Parse(uint64_t* bits);
  bool ParseTerm(uint64_t* bits);

 private:
  struct Number {
    uint64_t bits = 0;
    bool is_unsigned = false;
  };
  struct Operator {
    const char* text = "";
    int precedence = 0;  // 0: there is none
  };

  Operator PeekOperator() const;
  bool ParseConditional(Number* number);
  bool ParseBinary(int least, Number* number);
  bool ParseUnary(Number* number);
  bool ParseSigned(Number* number);
  bool ParsePrimary(Number* number);
  bool ParseParentheses(Number* number);
  bool Apply(const Operator& by, const Number& right, Number* left);

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_CONSTANT_EXPRESSION_H_
