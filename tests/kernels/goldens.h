// SPDX-License-Identifier: Apache-2.0
//
// Hashes of what kernels computed on a GPU, by test: "Suite.Test/output hash"
// lines. With $HOLDFAST_KERNELS_RECORD they are written to that file instead
// of compared.
#ifndef HOLDFAST_TESTS_KERNELS_GOLDENS_H_
#define HOLDFAST_TESTS_KERNELS_GOLDENS_H_

#include <cstddef>
#include <string>

namespace holdfast::kernels {

// Compares the running test's next output with the recorded one, or records
// it. A test without a recorded output passes.
void CheckGolden(const void* bytes, size_t size);

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_GOLDENS_H_
