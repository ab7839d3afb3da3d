// SPDX-License-Identifier: Apache-2.0
//
// Device functions become part of the kernels that call them: copied in place
// of each call, or, where that cannot be, once for all calls
// (outlined_calls.h).
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Functions that the runtime provides; calls of them stay calls.
bool IsRuntimeFunction(absl::string_view name);

struct InlinedKernel {
  std::optional<ptx::Function> function;
  std::string error;  // "line:column: reason"; empty: all is well
  // The module is right, but this kernel cannot run here. `function` has no
  // body then.
  bool unsupported = false;
  bool has_stack = false;  // for calls; else `stack_bytes` changes nothing
};

// `kernel` with the bodies of all functions that it calls in place of the
// calls, and its .param variables in registers where that is possible, else in
// local memory. `stack_bytes`: of each thread.
InlinedKernel InlineCalls(const ptx::Module& module,
                          const ptx::Function& kernel, uint64_t stack_bytes);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
