// SPDX-License-Identifier: Apache-2.0
//
// The number of registers of a lane that hold the matrices of ldmatrix,
// stmatrix and mma.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_

#include <cstddef>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// The number of columns that b and the result have in every mma.
inline constexpr int kProductColumns = 8;

// The sizes of an mma: a has `rows` rows and `depth` columns, and b has `depth`
// rows.
struct ProductShape {
  int rows = 0;
  int depth = 0;
};

// REQUIRES: `words` are the modifiers of an mma.
ProductShape ProductShapeOf(const Modifiers& words);

// Returns how many registers operand `at` of an instruction on matrices names
// in braces; 0 for other instructions, and for operands that are not matrices.
size_t MatrixRegisters(const Instruction& instruction, size_t at);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
