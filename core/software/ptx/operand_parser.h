// SPDX-License-Identifier: Apache-2.0
//
// Reads operands of instructions, and gives names their meaning.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_

#include "core/software/ptx/body_labels.h"
#include "core/software/ptx/body_names.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// Does not compare operands with the form of the instruction (OperandChecker).
// Each function reports an error and returns false if the text is not as it
// says.
class OperandParser {
 public:
  // `function` has the registers, and both it and `module` have the variables.
  // All arguments must outlive this object.
  OperandParser(TokenStream& tokens, const Module& module,
                const Function& function, BodyNames& names, BodyLabels& labels)
      : tokens_(tokens),
        module_(module),
        function_(function),
        names_(names),
        labels_(labels) {}

  // Reads a number, a name, a vector or, in brackets, an address.
  bool Parse(Operand* operand);
  // Reads a name. It is a label if nothing else has the name, and the name does
  // not begin with '%'. A register may have a selector behind it.
  bool ParseName(Operand* operand);

 private:
  bool ParseMemory(Operand* operand);
  bool ParseVector(Operand* operand);
  // Reads a floating-point number or a name, either of which may have a sign.
  bool ParseSigned(Operand* operand);
  bool ParseInteger(Operand* operand);
  bool ParseFloat(Operand* operand);
  // Reads name.word, such as %tid.x or a register with a selector.
  bool ParseDottedName(const Token& name, Operand* operand);
  // Reads the word behind a register, such as b0 or h10.
  bool ParseSelector(Selector* selector);
  // Adds up the offsets behind a name; there may be none.
  bool ParseOffset(Operand* operand);
  // Reads the index behind the name of an array. It counts numbers of the
  // array's type.
  bool ParseIndex(Operand* operand);

  TokenStream& tokens_;
  const Module& module_;
  const Function& function_;
  BodyNames& names_;
  BodyLabels& labels_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_
