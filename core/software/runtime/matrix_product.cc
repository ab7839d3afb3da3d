// SPDX-License-Identifier: Apache-2.0
//
// mma and wmma.mma, for generated code (abi.h).
#include "core/software/semantics/matrix_product.h"

#include "core/software/abi/abi.h"

namespace holdfast::software {

extern "C" {

void holdfast_multiply_matrices(WorkerContext*, uint64_t product, const void* a,
                                const void* b, const void* c, void* d) {
  MultiplyMatrices(UnpackMatrixProduct(product), a, b, c, d);
}

}  // extern "C"

}  // namespace holdfast::software
