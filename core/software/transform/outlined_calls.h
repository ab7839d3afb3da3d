// SPDX-License-Identifier: Apache-2.0
//
// Lowers calls that are not inlined. The called functions appear once in the
// body of the kernel. A call saves the live registers on a stack in the
// thread's local memory, stores the return point, and branches. So threads of
// one warp may be in different functions and at different depths, as after any
// other branch.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Returns the size in bytes of each thread's stack for the value `limit` of
// CU_LIMIT_STACK_SIZE. The size is twice the limit, because frames here use 8
// bytes for each register, and at least 64 KiB. It is not a power of two, so
// that the stacks of threads do not compete for the same sets of a cache.
constexpr uint64_t StackBytes(uint64_t limit) {
  constexpr uint64_t kStep = uint64_t{64} << 10;
  const uint64_t steps = (2 * limit + kStep - 1) / kStep;
  return (steps == 0 ? 1 : steps) * kStep + 192;
}

// Returns one function with the bodies of `kernel` and of the functions
// `outlined`, by their index in the module. Only calls of the runtime are left
// in it. `repeated` is true, by the same index, for functions that are neither
// recursive nor called through registers. Each thread has room for a frame of
// each of these functions in addition to `stack_bytes`. Sets *error if the
// stack has no room for a frame. REQUIRES: `kernel` and `outlined` call only
// functions of `outlined` and of the runtime.
ptx::Function JoinOutlinedFunctions(
    const ptx::Module& module, const ptx::Function& kernel,
    const std::map<uint32_t, ptx::Function>& outlined,
    const std::vector<bool>& repeated, uint64_t stack_bytes,
    std::string* error);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_OUTLINED_CALLS_H_
