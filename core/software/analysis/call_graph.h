// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_

#include <cstdint>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::analysis {

// The base of function pointers: device code holds this plus 16 times the index
// in Module::functions. No other object has such an address.
constexpr uint64_t kFunctionAddresses = uint64_t{1} << 62;
inline uint64_t FunctionAddress(uint32_t index) {
  return kFunctionAddresses + uint64_t{index} * 16;
}

// Returns, by index, the functions that `kernel` calls and that cannot be
// inlined: recursive ones, and those that are called through registers.
std::vector<bool> OutlinedFunctions(const ptx::Module& module,
                                    const ptx::Function& kernel);

// Returns, by index, the functions that may run when `kernel` does, through any
// chain of calls, also through registers.
std::vector<bool> ReachedFunctions(const ptx::Module& module,
                                   const ptx::Function& kernel);

// Returns, by index, the functions whose addresses the module takes.
std::vector<bool> AddressedFunctions(const ptx::Module& module);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
