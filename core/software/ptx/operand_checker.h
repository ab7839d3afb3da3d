// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_CHECKER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_CHECKER_H_

#include <cstddef>
#include <string>

#include "core/software/ptx/ast.h"
#include "core/software/ptx/matrix.h"

namespace holdfast::software::ptx {

// Returns true for a register or special register of type .pred.
bool IsPredicate(const Function& function, const Operand& operand);

// Compares the operands of instructions with their forms (forms.h), and numbers
// in the text with ptxas's rules. The parser uses it while it reads a function.
class OperandChecker {
 public:
  // `function`, which must outlive this object, has the registers.
  // `own_features`: the target is an architecture with its own features, such
  // as sm_90a.
  OperandChecker(const Function& function, bool own_features)
      : function_(function), own_features_(own_features) {}

  // Returns the first mistake, such as "too few operands"; "" if there is none.
  // REQUIRES: the instruction has a form.
  std::string Check(const Instruction& instruction) const;

 private:
  // Each returns a mistake or "". `at` is an operand's place in the text.
  //
  // Compares the operands with the letters of the form. Only trailing optional
  // operands can be missing.
  std::string CheckOperands(const Instruction& instruction) const;
  std::string CheckVector(const Instruction& instruction, size_t at,
                          size_t elements) const;
  std::string CheckMatrix(const Instruction& instruction, size_t at,
                          const MatrixOperand& matrix) const;
  std::string CheckParts(const Instruction& instruction, size_t at) const;
  std::string CheckStride(const Instruction& instruction) const;
  // Checks numbers that ptxas has rules for, even if the type can hold other
  // numbers.
  std::string CheckNumbers(const Instruction& instruction) const;

  bool HoldsElements(const Operand& operand, Type element) const;
  bool Fits(const Instruction& instruction, const Operand& operand,
            char letter) const;

  const Function& function_;
  const bool own_features_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_CHECKER_H_
