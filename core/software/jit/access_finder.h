// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_

#include <optional>

#include "core/software/jit/access_site.h"
#include "llvm/Support/MemoryBuffer.h"

namespace holdfast::software::jit {

// Returns the memory access that a CPU in the state `state` was making in the
// code of `object`; nullopt if the CPU was executing other code. `object` is an
// object file with one function, which is loaded at the address `code`.
std::optional<MachineAccess> FindAccess(llvm::MemoryBufferRef object,
                                        uint64_t code,
                                        const MachineState& state);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_FINDER_H_
