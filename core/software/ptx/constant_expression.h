// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_CONSTANT_EXPRESSION_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_CONSTANT_EXPRESSION_H_

#include <cstdint>

#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// Reads integer constants, which are expressions with the operators of C: "8",
// "-(1 + 2) * 3", "WARP_SZ - 1", "(.u64)1 << 4". Numbers have 64 bits. A number
// is an .s64, or a .u64 if it is too large for an .s64. Arithmetic with a .u64
// has a .u64 as its result.
class ConstantExpression {
 public:
  // `tokens` must outlive this object.
  explicit ConstantExpression(TokenStream& tokens) : tokens_(tokens) {}

  // Returns true if the next tokens can only begin an expression.
  bool Begins() const;
  // Read an expression, and set *bits to its value. Parse reads as much as it
  // can. ParseTerm stops before an operator whose precedence is not above the
  // precedence of + and -. Both report an error and return false if the text is
  // no expression.
  bool Parse(uint64_t* bits);
  bool ParseTerm(uint64_t* bits);

 private:
  struct Number {
    uint64_t bits = 0;
    bool is_unsigned = false;
  };
  struct Operator {
    const char* text = "";
    int precedence = 0;  // higher binds closer; 0: there is no operator
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
