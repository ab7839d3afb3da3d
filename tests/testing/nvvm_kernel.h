// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_TESTING_NVVM_KERNEL_H_
#define HOLDFAST_TESTS_TESTING_NVVM_KERNEL_H_

#include <string>

#include "absl/strings/str_replace.h"

namespace holdfast::testing {

// Returns NVVM IR, in the form that libNVVM reads for architectures before 100.
// It has one kernel, `name`, with one parameter, the address of a float. The
// kernel loads the float as %v, computes `expression`, such as
// "call float @__nv_sinf(float %v)", and stores the result at the address.
// `declarations` come before the kernel.
inline std::string NvvmKernel(const std::string& name,
                              const std::string& expression,
                              const std::string& declarations) {
  constexpr char kIr[] = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
@llvm.used = appending global [1 x i8*] [i8* bitcast (void (float*)* @NAME to i8*)], section "llvm.metadata"
DECLARATIONS
define void @NAME(float* %p) {
  %v = load float, float* %p
  %s = EXPRESSION
  store float %s, float* %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{void (float*)* @NAME, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0}
)";
  return absl::StrReplaceAll(kIr, {{"NAME", name},
                                   {"EXPRESSION", expression},
                                   {"DECLARATIONS", declarations}});
}

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_NVVM_KERNEL_H_
