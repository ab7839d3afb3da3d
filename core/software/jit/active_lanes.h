// SPDX-License-Identifier: Apache-2.0
//
// The lanes of a warp for which code is emitted, as an explicit argument. An
// ActiveLanes is a small value that refers to LLVM values: the lanes themselves
// are known only when the code runs.
//
// Four fields determine the lanes that run. In masked code they are the word
// `exec`. In full code they are all lanes, or the lanes of `region` in a region
// that runs under masks. A varying guard narrows both. In a scalar loop one
// lane runs alone, without a mask.
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
  // those that run and whose guard holds. Null if these are known to be all
  // lanes, or if one lane runs alone; callers then emit code without a mask.
  llvm::Value* Mask(Builder& b) const;
  // Returns Mask(), or the word of all lanes if that is null.
  llvm::Value* MaskOrAll(Builder& b) const;
  // Returns an i32 with the bit of `lane`.
  llvm::Value* LaneBit(Builder& b) const;

  bool alone() const { return lane != nullptr; }
  // Returns these lanes, with `bits` as a guard in addition to the present one.
  ActiveLanes Guarded(Builder& b, llvm::Value* bits) const;
};

// The pending lanes of each block of a region that full code runs under masks,
// and of the region's join.
using RegionLanes = std::map<int, llvm::AllocaInst*>;

// An instruction that is being emitted, its block, and its lanes.
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
