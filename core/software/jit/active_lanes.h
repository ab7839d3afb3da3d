// SPDX-License-Identifier: Apache-2.0
//
// The lanes of a warp for which code is emitted. Emitters pass an ActiveLanes
// as an argument. It is a small value that refers to LLVM values, because the
// lanes themselves are known only when the code runs.
//
// In masked code, the lanes that run are the bits of the word `exec`. In full
// code, all lanes run, or only the lanes of `region` in a region that runs
// under masks. A varying guard narrows these lanes. In a scalar loop one lane
// runs alone, without a mask.
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
  // the lanes that run and whose guard is true. Returns null if these are known
  // to be all lanes, or if one lane runs alone. Callers then emit code without
  // a mask.
  llvm::Value* Mask(Builder& b) const;
  // Returns Mask(), or the word of all lanes if Mask() is null.
  llvm::Value* MaskOrAll(Builder& b) const;
  // Returns an i32 with only the bit of `lane` set. REQUIRES: alone().
  llvm::Value* LaneBit(Builder& b) const;

  bool alone() const { return lane != nullptr; }
  // Returns these lanes, narrowed by `bits` (i32) in addition to the present
  // guard.
  ActiveLanes Guarded(Builder& b, llvm::Value* bits) const;
};

// The words of pending lanes in a region that full code runs under masks: one
// word for each block of the region, and one for the block at its end.
using RegionLanes = std::map<int, llvm::AllocaInst*>;

// An instruction that is being emitted, its block, and its lanes.
struct Step {
  const ptx::Instruction& instruction;
  size_t block;
  ActiveLanes lanes;
  const RegionLanes* region = nullptr;  // null outside of a region

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
