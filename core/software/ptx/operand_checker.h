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

// Checks the operands of instructions against their forms (forms.h), and
// numbers in the text against the rules of ptxas. The parser uses an
// OperandChecker while it reads a function.
class OperandChecker {
 public:
  // `function` has the registers, and must outlive this object. `own_features`
  // is true if the target has features of its own, such as sm_90a.
  OperandChecker(const Function& function, bool own_features)
      : function_(function), own_features_(own_features) {}

  // Returns the first mistake, such as "too few operands"; empty if there is
  // none. REQUIRES: the instruction has a form.
  std::string Check(const Instruction& instruction) const;

 private:
  // The Check functions return a mistake, or an empty string if there is none.
  // `at` is the index of an operand.

  // Compares the operands with the letters of the form. Only trailing optional
  // operands can be missing.
  std::string CheckOperands(const Instruction& instruction) const;
  std::string CheckVector(const Instruction& instruction, size_t at,
                          size_t elements) const;
  std::string CheckMatrix(const Instruction& instruction, size_t at,
                          const MatrixOperand& matrix) const;
  std::string CheckParts(const Instruction& instruction, size_t at) const;
  std::string CheckStride(const Instruction& instruction) const;
  // Checks numbers for which ptxas has rules, even if the type can represent
  // other numbers.
  std::string CheckNumbers(const Instruction& instruction) const;

  bool HoldsElements(const Operand& operand, Type element) const;
  bool Fits(const Instruction& instruction, const Operand& operand,
            char letter) const;

  const Function& function_;
  const bool own_features_;
};

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_OPERAND_CHECKER_H_
