// SPDX-License-Identifier: Apache-2.0
//
// Reads operands of instructions, and resolves names.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_

#include "core/software/ptx/body_labels.h"
#include "core/software/ptx/body_names.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

// The parser of operands. It does not compare operands with the form of the
// instruction; OperandChecker does. Each function reports an error and returns
// false if the text is not of the expected form.
class OperandParser {
 public:
  // `function` has the registers, and `function` and `module` have the
  // variables. All arguments must outlive this object.
  OperandParser(TokenStream& tokens, const Module& module,
                const Function& function, BodyNames& names, BodyLabels& labels)
      : tokens_(tokens),
        module_(module),
        function_(function),
        names_(names),
        labels_(labels) {}

  // Reads a number, a name, a vector or, in brackets, an address.
  bool Parse(Operand* operand);
  // Reads a name. The name is a label if nothing else has the name, and it does
  // not begin with '%'. A selector may follow a register.
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
  // Reads the selector after a register, such as b0 or h10.
  bool ParseSelector(Selector* selector);
  // Reads the offsets after a name, of which there may be none, and adds them
  // to the operand's offset.
  bool ParseOffset(Operand* operand);
  // Reads the index after the name of an array. The index counts elements of
  // the array's type. Sets the operand's offset in bytes.
  bool ParseIndex(Operand* operand);

  TokenStream& tokens_;
  const Module& module_;
  const Function& function_;
  BodyNames& names_;
  BodyLabels& labels_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_PARSER_H_
