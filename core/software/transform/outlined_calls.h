// SPDX-License-Identifier: Apache-2.0
//
// Calls that cannot be inlined. The functions stand once in the body of the
// kernel; a call saves what is still needed in a stack in the thread's local
// memory, notes where to return, and branches. So threads of one warp may be in
// different functions and at different depths, as with any other branch.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_

#include <cstdint>
#include <map>
#include <string>

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// The stack of each thread for a CU_LIMIT_STACK_SIZE: twice of that, since
// frames here keep each register in 8 bytes, and never less than 64 KiB. Not a
// power of two, so that threads do not meet in the sets of a cache.
constexpr uint64_t StackBytes(uint64_t limit) {
  constexpr uint64_t kStep = uint64_t{64} << 10;
  const uint64_t steps = (2 * limit + kStep - 1) / kStep;
  return (steps == 0 ? 1 : steps) * kStep + 192;
}

// `kernel` and the functions, by their index in the module, have no calls left
// but of these functions and of what the runtime provides. Returns one function
// that has none of the former; if that cannot be, says why in *error.
ptx::Function JoinOutlinedFunctions(
    const ptx::Module& module, const ptx::Function& kernel,
    const std::map<uint32_t, ptx::Function>& outlined, uint64_t stack_bytes,
    std::string* error);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_
