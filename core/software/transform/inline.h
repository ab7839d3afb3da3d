// SPDX-License-Identifier: Apache-2.0
//
// Makes device functions part of the kernels that call them. A function is
// copied in place of each call. If that is impossible or would make too much
// code, it is copied once for all calls (outlined_calls.h).
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Returns true if `name` is a function of the runtime. Calls of such functions
// stay calls.
bool IsRuntimeFunction(absl::string_view name);

// The result of InlineCalls.
struct InlinedKernel {
  std::optional<ptx::Function> function;  // nullopt: `error` has the reason
  std::string error;  // "line:column: reason"; empty: no error
  // The module is valid, but this kernel cannot run on this device. `function`
  // then has no body.
  bool unsupported = false;
  // The kernel has a stack for calls. If false, `stack_bytes` has no effect.
  bool has_stack = false;
};

// Returns `kernel` with the bodies of all functions that it calls. The .param
// variables of calls become registers if possible, otherwise local variables.
// `stack_bytes` is the size of each thread's stack.
InlinedKernel InlineCalls(const ptx::Module& module,
                          const ptx::Function& kernel, uint64_t stack_bytes);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
