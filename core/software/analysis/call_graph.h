// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_

#include <cstdint>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::analysis {

// The base of function pointers: device code holds this plus an index for
// Module::functions[index]. Nothing else has such an address.
constexpr uint64_t kFunctionAddresses = uint64_t{1} << 62;
inline uint64_t FunctionAddress(uint32_t index) {
  return kFunctionAddresses + uint64_t{index} * 16;
}

// The functions, by index, that `kernel` calls and that cannot become part of
// their callers: those that call themselves, by whatever way, and those that
// are called through registers.
std::vector<bool> OutlinedFunctions(const ptx::Module& module,
                                    const ptx::Function& kernel);

// The functions, by index, that may run when `kernel` does: those that it calls
// itself or through others, also by a register.
std::vector<bool> ReachedFunctions(const ptx::Module& module,
                                   const ptx::Function& kernel);

// Functions whose addresses the module takes.
std::vector<bool> AddressedFunctions(const ptx::Module& module);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_CALL_GRAPH_H_
