// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_

#include <cstdint>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::analysis {

// The base of function pointers. A function pointer in device code is this
// number plus 16 times the function's index in Module::functions. No other
// object has such an address.
constexpr uint64_t kFunctionAddresses = uint64_t{1} << 62;

// Returns the function pointer of the function with this index.
inline uint64_t FunctionAddress(uint32_t index) {
  return kFunctionAddresses + uint64_t{index} * 16;
}

// Returns true, by index of the function, for the functions that `kernel`
// calls, directly or not, and that cannot be inlined: recursive functions, and
// functions that are called through registers.
std::vector<bool> OutlinedFunctions(const ptx::Module& module,
                                    const ptx::Function& kernel);

// Returns true, by index of the function, for the functions that may run when
// `kernel` runs, through any chain of calls, including calls through registers.
std::vector<bool> ReachedFunctions(const ptx::Module& module,
                                   const ptx::Function& kernel);

// Returns true, by index of the function, for the functions whose addresses the
// module takes.
std::vector<bool> AddressedFunctions(const ptx::Module& module);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
