// SPDX-License-Identifier: Apache-2.0
//
// The storage of PTX registers in one LLVM function of a kernel.
//
// In full code (all lanes run), registers are variables on the stack, which
// LLVM's SROA turns into SSA values. In masked code (some lanes run), only a
// register that is live within one block is such a variable. Other registers
// lie in the warp's frame in memory. In code for a lane that runs alone,
// registers are scalars.
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

  // The storage of one part of a register.
  struct Place {
    llvm::Value* pointer;
    llvm::Type* type;
  };
  using Places = llvm::SmallVector<Place, 4>;

  // Writes update `notes`. Both arguments must outlive this object.
  Registers(const EmitContext& context, BlockNotes* notes);

  // Emits a read of the register from the storage that code of `mode` uses.
  // `mode` differs from the emitted function's mode where control passes
  // between full code and masked code.
  Value Read(uint32_t index, Mode mode, const ActiveLanes& lanes = {});
  // Emits a write. Lanes outside of `mask` (i32) keep their values; null: all
  // lanes are written. `mask` has no effect on a register whose shape is
  // uniform or affine (analysis/lane_shape.h), because one scalar stands for
  // all of its lanes.
  void Write(uint32_t index, const Value& value, Mode mode, llvm::Value* mask,
             const ActiveLanes& lanes = {});

  // Returns the storage of the register's parts. The first call allocates it.
  Places StorageOf(uint32_t index, Mode mode);
  // Returns the storage in which full code passes a register to masked code, in
  // the shape that the register has in full code.
  Places LiveOutStorage(uint32_t index);
  // Returns true if full code and masked code store the register in the same
  // form.
  bool SameStorage(uint32_t index) const;
  // Emits stores of zeros to the registers that may be read before they are
  // written. Emits none for other registers, because each store costs LLVM a
  // walk through the function.
  void ClearStorage();

  // Forgets the scalars of all registers, so that ScalarOf makes new ones.
  void ForgetScalars() { scalars_.clear(); }
  // Returns the storage of a register in code for a lane that runs alone. The
  // first call for the register allocates it.
  llvm::AllocaInst* ScalarOf(uint32_t index);

 private:
  // Returns true if the register is live within one block only, and full code
  // never passes it to masked code.
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
