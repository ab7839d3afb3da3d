// SPDX-License-Identifier: Apache-2.0
//
// The PTX that the suites load, as text, so that the binary carries it along.
#ifndef HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_
#define HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_

#include "tests/testing/kernels.h"

namespace holdfast::conformance {

// mixed(unsigned char a, unsigned long b, unsigned short c, 24-byte struct
//       aligned to 8): parameters at 0, 8, 16 and 24
inline constexpr char kMixed[] = R"(
.visible .const .align 4 .b8 table[16];
.visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c,
                      .param .align 8 .b8 d[24])
{
    ret;
}
)";

inline constexpr const char* kPtx =
    test_ptx::kModule<test_ptx::kScale, test_ptx::kEmpty, kMixed,
                      test_ptx::kStore, test_ptx::kBump>;

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_DRIVER_KERNELS_H_
