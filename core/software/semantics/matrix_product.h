// SPDX-License-Identifier: Apache-2.0
//
// Computes products of matrices that lie in the registers of a warp's lanes:
// mma, and the parts of wmma.
#ifndef HOLDFAST_CORE_SOFTWARE_SEMANTICS_MATRIX_PRODUCT_H_
#define HOLDFAST_CORE_SOFTWARE_SEMANTICS_MATRIX_PRODUCT_H_

#include <cstdint>

#include "core/software/ptx/types.h"

namespace holdfast::software {

// The description of a product d = a * b + c. a has `rows` rows (8 or 16) and
// `depth` columns. b, c and d have 8 columns.
struct MatrixProduct {
  // The term of a sum that an element of a and an element of b make: the
  // product of two numbers, or the "and" or the "xor" of two bits.
  enum class Term : uint8_t { kProduct, kAnd, kXor };

  int rows = 16;
  int depth = 16;
  ptx::Type a = ptx::Type::kNone;
  ptx::Type b = ptx::Type::kNone;
  ptx::Type c = ptx::Type::kNone;
  ptx::Type d = ptx::Type::kNone;
  Term term = Term::kProduct;
  bool saturate = false;  // true: integer sums saturate; false: they wrap
  // The rounding of f64, as for RoundingScope: 0 to the nearest, 1 toward zero,
  // 2 down, 3 up.
  uint32_t rounding = 0;
};

// Pack the description into one word, for calls from generated code, and back.
uint64_t PackMatrixProduct(const MatrixProduct& product);
MatrixProduct UnpackMatrixProduct(uint64_t option);

// Computes the product. Each of a, b, c and d has its registers one after the
// other, and each register has a word for each of the 32 lanes: 64 bits for
// f64, 32 bits for all other types.
//
// Products of f64 are added one after the other by fused multiply-adds. Sums of
// other floating-point products are computed in double precision and rounded
// once. A GPU adds with fewer bits, so that the last bits of its result may
// differ. A result that is NaN has the same bits as on a GPU.
void MultiplyMatrices(const MatrixProduct& product, const void* a,
                      const void* b, const void* c, void* d);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_SEMANTICS_MATRIX_PRODUCT_H_
