// SPDX-License-Identifier: Apache-2.0
//
// Reads instructions of a function's body.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_INSTRUCTION_PARSER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_INSTRUCTION_PARSER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "core/software/ptx/operand_checker.h"
#include "core/software/ptx/operand_parser.h"
#include "core/software/ptx/token_stream.h"

namespace holdfast::software::ptx {

class InstructionParser {
 public:
  // Instructions are added to `function`. `own_features`: see OperandChecker.
  // The arguments must outlive this object.
  InstructionParser(TokenStream& tokens, OperandParser& operands,
                    Function& function, bool own_features)
      : tokens_(tokens),
        operands_(operands),
        function_(function),
        checker_(function, own_features) {}

  // Reads an instruction with its guard, and appends it to the body. `source`
  // is its source line. Reports an error and returns false if no form (forms.h)
  // fits the words or the operands. An instruction of PTX without a form is no
  // error. It is not appended, and the function can be loaded but not run
  // (Function::unserved).
  bool Parse(SourceLine source);

 private:
  // The functions below report an error and return false if the text is not of
  // the expected form.

  // Handles an instruction without a form.
  bool ParseUnserved(Location location, absl::string_view opcode,
                     const std::vector<absl::string_view>& words);
  // Reads @%p or @!%p before an instruction. Does nothing if there is no guard.
  bool ParseGuard(Operand* guard);
  // Reads operands in the order of the text; "d|p" becomes two operands.
  bool ParseOperands(Instruction* instruction);
  // Reads the operands of call: (results), callee, (arguments). See
  // Instruction::results.
  bool ParseCall(Instruction* instruction);
  bool ParseCallList(Instruction* instruction);
  bool ParseOperand(Instruction* instruction);

  TokenStream& tokens_;
  OperandParser& operands_;
  Function& function_;
  const OperandChecker checker_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_INSTRUCTION_PARSER_H_
