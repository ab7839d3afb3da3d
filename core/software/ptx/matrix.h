// SPDX-License-Identifier: Apache-2.0
//
// The matrices that the lanes of a warp hold together: their sizes, the types
// of their elements, and the registers of a lane that hold them.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_

#include <cstddef>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// The sizes of a product: a has `rows` rows and `depth` columns, b has `depth`
// rows and `columns` columns, and c and d have `rows` rows and `columns`
// columns.
struct ProductShape {
  int rows = 0;
  int columns = 0;
  int depth = 0;
};

// REQUIRES: `words` are the modifiers of an mma or a wmma.
ProductShape ProductShapeOf(const Modifiers& words);

// The types of the elements of a product's matrices.
struct ProductTypes {
  Type d = Type::kNone;
  Type a = Type::kNone;
  Type b = Type::kNone;
  Type c = Type::kNone;
};

// REQUIRES: `words` are the modifiers of an mma or a wmma.mma.
ProductTypes ProductTypesOf(const Modifiers& words);

// The three kinds of wmma instructions.
enum class TileAction : uint8_t { kLoad, kStore, kMultiply };

// REQUIRES: the instruction is a wmma.
TileAction TileActionOf(const Instruction& instruction);

// The registers of a lane that an operand names in braces, and the type of the
// elements in them. ldmatrix and stmatrix move bits, so their type is b16.
struct MatrixOperand {
  Type element = Type::kNone;
  size_t registers = 0;  // 0: the operand is not a matrix
};

// Describes operand `at` of any instruction.
MatrixOperand MatrixOperandOf(const Instruction& instruction, size_t at);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
