// SPDX-License-Identifier: Apache-2.0
//
// Makes device functions part of the kernels that call them: copies them in
// place of each call or, if that is impossible, once for all calls
// (outlined_calls.h).
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Returns true for functions of the runtime, whose calls stay calls.
bool IsRuntimeFunction(absl::string_view name);

struct InlinedKernel {
  std::optional<ptx::Function> function;
  std::string error;  // "line:column: reason"; empty: no error
  // The module is valid, but this kernel cannot run here. `function` then has
  // no body.
  bool unsupported = false;
  bool has_stack = false;  // for calls; if false, `stack_bytes` has no effect
};

// Returns `kernel` with the bodies of all called functions in place of the
// calls. Its .param variables are in registers if possible, else in local
// memory. `stack_bytes` is the stack of each thread.
InlinedKernel InlineCalls(const ptx::Module& module,
                          const ptx::Function& kernel, uint64_t stack_bytes);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_INLINE_H_
