// SPDX-License-Identifier: Apache-2.0
//
// Emits conversions of addresses between the generic space, the space of one
// memory, and the shared memories of a cluster's blocks: cvta, mapa and
// getctarank.
//
// Generic addresses are addresses of this process. Addresses of shared memory
// and of parameters are offsets from the start of this memory.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CONVERSION_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CONVERSION_H_

#include "core/software/jit/emit_context.h"

namespace holdfast::software::jit {

class AddressConversion {
 public:
  explicit AddressConversion(const EmitContext& context)
      : c_(context), b_(context.b) {}

  // Returns the result of the instruction, whose sources are `in`: scalars, or
  // vectors of one chunk. Returns null if the instruction is not a conversion
  // of an address.
  llvm::Value* Compute(const ptx::Instruction& instruction, Values in) const;

 private:
  llvm::Value* Convert(const ptx::Instruction& instruction,
                       llvm::Value* address) const;
  llvm::Value* Map(const ptx::Instruction& instruction, llvm::Value* address,
                   llvm::Value* rank) const;
  llvm::Value* RankOf(const ptx::Instruction& instruction,
                      llvm::Value* address) const;
  llvm::Value* FromClusterStart(const ptx::Instruction& instruction,
                                llvm::Value* address) const;
  // Returns the start of the shared memory of the cluster's first block, with
  // the type of `like`: a scalar, or a vector for the lanes of a chunk.
  llvm::Value* ClusterStart(llvm::Value* like) const;

  const EmitContext& c_;
  Builder& b_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CONVERSION_H_
