// SPDX-License-Identifier: Apache-2.0
//
// Where one function of a kernel keeps PTX registers.
//
// Full code keeps them as values, on the stack until LLVM's SROA has turned
// them into SSA values. Masked code keeps those that do not leave their block
// in the same way; the others are in the warp's frame in memory. In a scalar
// loop, one lane has scalars of its own.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_REGISTERS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_REGISTERS_H_

#include <map>
#include <vector>

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/block_notes.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_arrays.h"

namespace holdfast::software::jit {

class Registers {
 public:
  using Mode = analysis::Mode;

  // Where a part of a register is kept.
  struct Place {
    llvm::Value* pointer;
    llvm::Type* type;
  };
  using Places = llvm::SmallVector<Place, 4>;

  // `notes` is kept up to date about what is written.
  Registers(const EmitContext& context, BlockNotes* notes);

  // Reads a register of `mode`: at the seams between the two functions that is
  // not the mode of the code that is being emitted.
  Value Read(uint32_t index, Mode mode, const ActiveLanes& lanes = {});
  // Writes it. Lanes outside of `mask` keep their values; null: all are
  // written.
  void Write(uint32_t index, const Value& value, Mode mode, llvm::Value* mask,
             const ActiveLanes& lanes = {});

  // Returns where the register's parts are, and makes room at the first call.
  Places StorageOf(uint32_t index, Mode mode);
  // Returns where full code leaves a register for masked code, in the shape
  // that it has in full code.
  Places LiveOutStorage(uint32_t index);
  // Whether both codes keep a register in the same way.
  bool SameStorage(uint32_t index) const;
  // Emits stores of zeros to the registers that may be read before they are
  // written. A store to others would cost LLVM a walk through the function.
  void ClearStorage();

  // The scalars of the lane that runs alone.
  void ForgetScalars() { scalars_.clear(); }
  llvm::AllocaInst* ScalarOf(uint32_t index);

 private:
  // Whether it lives and dies within a block, and full code never hands it
  // over.
  bool OnlyInItsBlock(uint32_t index) const;
  llvm::Value* LoadKept(const Place& place) const;
  void WritePredicate(uint32_t index, const Value& value, const Value& stored,
                      const Place& place, Mode mode, llvm::Value* mask);

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  BlockNotes& notes_;
  std::vector<llvm::SmallVector<llvm::AllocaInst*, 4>> storage_;
  std::map<uint32_t, llvm::AllocaInst*> scalars_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_REGISTERS_H_
