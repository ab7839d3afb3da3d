// SPDX-License-Identifier: Apache-2.0
//
// Emits the exits of full code: where lanes diverge, and where an affine index
// overflows.
//
// An exit stores each register that is still needed to the frame, in the shape
// of full code, which is mostly one scalar. Then the exit jumps to the call of
// masked code, which all exits for the same reason share. Masked code converts
// the registers to its own shapes at its entry (full_path_return.h). So each of
// a kernel's many exits is only a few stores.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXITS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXITS_H_

#include <map>
#include <vector>

#include "core/software/jit/arithmetic_emitter.h"
#include "core/software/jit/full_path_exit.h"
#include "core/software/jit/pending_lanes.h"

namespace holdfast::software::jit {

class FullPathExits : public OverflowCheck {
 public:
  FullPathExits(const EmitContext& context, Registers& registers,
                const PendingLanes& pending)
      : c_(context),
        b_(context.b),
        v_(context.b),
        registers_(registers),
        pending_(pending) {}

  FullPathExit divergence;
  // The exit for warps in which an index overflows or that have fewer than 32
  // threads. These warps do not return to full code.
  FullPathExit overflow;

  // The variable in which each exit stores the number of the entry of masked
  // code; an i32.
  void set_entry_number(llvm::AllocaInst* place) { entry_number_ = place; }
  llvm::AllocaInst* entry_number() const { return entry_number_; }
  // Returns the number of the entry in front of the instruction; -1 if there is
  // none.
  int EntryInFrontOf(const ptx::Instruction& instruction) const;

  // Begins an exit: emits stores to the frame of the registers whose element in
  // `registers` is true. Adds them to exit->live_outs.
  void SaveLiveOuts(const std::vector<bool>& registers, FullPathExit* exit);
  // Ends an exit: emits a jump to the call of masked code, which begins at
  // `entry`.
  void Leave(int entry, FullPathExit* exit);
  // Emits an exit for divergence in front of block `k`. All lanes then run the
  // block in masked code.
  void LeaveInFrontOf(size_t k);
  // Emits the check in front of the instruction, with an exit for overflow.
  void CheckNoOverflow(const Step& step, const Value& narrow) override;

 private:
  std::vector<bool> NeededAt(const Step& step) const;
  llvm::Value* Overflows(const Value& narrow, int32_t distance) const;
  void PendRegion(const Step& step);

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  Registers& registers_;
  const PendingLanes& pending_;
  llvm::AllocaInst* entry_number_ = nullptr;
  std::map<const ptx::Instruction*, int> resumed_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_FULL_PATH_EXITS_H_
