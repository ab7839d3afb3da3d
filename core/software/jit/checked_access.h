// SPDX-License-Identifier: Apache-2.0
//
// An access to memory whose addresses are about to be checked.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_CHECKED_ACCESS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_CHECKED_ACCESS_H_

#include <cstdint>

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/value.h"
#include "core/software/ptx/ast.h"

namespace holdfast::software::jit {

// The running lanes of `step` will access `bytes` bytes each at `address`, the
// value of `operand` in `space`.
struct CheckedAccess {
  const Step& step;
  const ptx::Operand& operand;
  ptx::Space space;
  const Value& address;
  uint64_t bytes;

  bool at_register() const {
    return operand.kind == ptx::Operand::Kind::kRegister;
  }
  bool at_variable() const {
    return operand.kind == ptx::Operand::Kind::kVariable ||
           operand.kind == ptx::Operand::Kind::kLocalVariable;
  }
};

// The result of a test in emitted code. `outside` is an i1, or a vector of i1
// for the lanes of a chunk, and is true if an address may be bad. `sure`: an
// address of a lane that takes part in the access is then bad. Not `sure`: it
// may be the address of a lane that takes no part.
struct AddressTest {
  llvm::Value* outside;
  bool sure;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_CHECKED_ACCESS_H_
