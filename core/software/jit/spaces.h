// SPDX-License-Identifier: Apache-2.0
//
// The state spaces that instructions name.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_SPACES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_SPACES_H_

#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// Returns the state space that the instruction names; generic if it names none.
ptx::Space SpaceOf(const ptx::Instruction& instruction);

// Returns true for the shared memory of the block and of its cluster. Code
// accesses both in the same way, because all blocks of a cluster run on one
// thread.
bool IsShared(ptx::Space space);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_SPACES_H_
