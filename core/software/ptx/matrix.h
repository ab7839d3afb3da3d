// SPDX-License-Identifier: Apache-2.0
//
// The matrices that lie in the registers of all lanes of a warp: their sizes,
// the types of their elements, and the number of registers in each lane.
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_

#include <cstddef>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// The sizes of the matrices of a product d = a * b + c. a has `rows` rows and
// `depth` columns. b has `depth` rows and `columns` columns. c and d have
// `rows` rows and `columns` columns.
struct ProductShape {
  int rows = 0;
  int columns = 0;
  int depth = 0;
};

// Returns the sizes that the modifiers name. REQUIRES: `words` are the
// modifiers of an mma or a wmma.
ProductShape ProductShapeOf(const Modifiers& words);

// The types of the elements of a product's matrices.
struct ProductTypes {
  Type d = Type::kNone;
  Type a = Type::kNone;
  Type b = Type::kNone;
  Type c = Type::kNone;
};

// Returns the types that the modifiers name. REQUIRES: `words` are the
// modifiers of an mma or a wmma.mma.
ProductTypes ProductTypesOf(const Modifiers& words);

// The three kinds of wmma instructions.
enum class TileAction : uint8_t { kLoad, kStore, kMultiply };

// Returns the kind of a wmma instruction. REQUIRES: the instruction is a wmma.
TileAction TileActionOf(const Instruction& instruction);

// An operand that is a matrix: the number of registers that it names in braces,
// and the type of the elements in the registers. The type is b16 for ldmatrix
// and stmatrix, which move bits.
struct MatrixOperand {
  Type element = Type::kNone;
  size_t registers = 0;  // 0: the operand is not a matrix
};

// Returns the description of operand `at`. The instruction may have any opcode.
MatrixOperand MatrixOperandOf(const Instruction& instruction, size_t at);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_MATRIX_H_
