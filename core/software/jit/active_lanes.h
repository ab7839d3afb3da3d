// SPDX-License-Identifier: Apache-2.0
//
// The lanes of a warp for which code is emitted, as an explicit argument: a
// small value that names LLVM values, never the lanes themselves, which are
// known only when code runs.
//
// Four things decide who runs. Masked code has a word of running lanes in
// `exec`. Full code runs all lanes, but only those of `region` within a region
// under masks. A guard that varies narrows either. In a scalar loop one lane
// runs alone, and no mask is needed.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ACTIVE_LANES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ACTIVE_LANES_H_

#include <map>

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/jit/value.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::jit {

struct ActiveLanes {
  llvm::AllocaInst* exec = nullptr;  // of an i32; null in full code
  llvm::Value* region = nullptr;     // i32; null outside of a region
  llvm::Value* guard = nullptr;      // i32; null without a varying guard
  llvm::Value* lane = nullptr;       // i32; null unless a lane runs alone

  // Returns an i32 of the lanes that run, without regard to the guard.
  llvm::Value* Exec(Builder& b) const;
  // Returns an i32 of the lanes for which an instruction has to take effect:
  // those that run and whose guard holds. Null if these are known to be all, or
  // if one lane runs alone, so that callers choose their code without a mask.
  llvm::Value* Mask(Builder& b) const;
  // The same, as a value in any case.
  llvm::Value* MaskOrAll(Builder& b) const;
  // Returns an i32 with the bit of `lane`.
  llvm::Value* LaneBit(Builder& b) const;

  bool alone() const { return lane != nullptr; }
  // These lanes, with `bits` besides the guard that there is.
  ActiveLanes Guarded(Builder& b, llvm::Value* bits) const;
};

// The pending lanes of the blocks of a region that full code runs under masks,
// by block; the region's join among them.
using RegionLanes = std::map<int, llvm::AllocaInst*>;

// An instruction that is being emitted, where it stands, and for which lanes.
struct Step {
  const ptx::Instruction& instruction;
  size_t block;
  ActiveLanes lanes;
  const RegionLanes* region = nullptr;  // null outside of one

  bool guarded() const {
    return instruction.guard.kind != ptx::Operand::Kind::kNone;
  }
  // Returns the instruction's index in the body of the kernel.
  uint32_t IndexIn(const lower::Kernel& kernel) const {
    return static_cast<uint32_t>(&instruction - kernel.function->body.data());
  }
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ACTIVE_LANES_H_
