// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_

#include <optional>

#include "core/software/jit/access_site.h"
#include "llvm/Support/MemoryBuffer.h"

namespace holdfast::software::jit {

// Returns the memory access that the CPU was making in the code of `object`
// when it had the state `state`; nullopt if it was executing other code. The
// only function of `object` is loaded at the address `code`.
std::optional<MachineAccess> FindAccess(llvm::MemoryBufferRef object,
                                        uint64_t code,
                                        const MachineState& state);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_
