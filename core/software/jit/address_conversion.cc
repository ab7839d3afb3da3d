// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/address_conversion.h"

#include <bit>

#include "core/software/abi/shared_memory.h"
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Space;

llvm::Value* AddressConversion::Compute(const Instruction& instruction,
                                        Values in) const {
  switch (instruction.opcode()) {
    case Opcode::kCvta:
      return Convert(instruction, in[0]);
    case Opcode::kMapa:
      return Map(instruction, in[0], in[1]);
    case Opcode::kGetctarank:
      return RankOf(instruction, in[0]);
    default:
      return nullptr;
  }
}

// cvta
llvm::Value* AddressConversion::Convert(const Instruction& instruction,
                                        llvm::Value* address) const {
  const Space space = SpaceOf(instruction);
  llvm::Value* base = IsShared(space) ? c_.shared_window
                      : space == Space::kParam
                          ? b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty())
                          : nullptr;
  if (base == nullptr) return address;
  base = b_.CreateTrunc(base, address->getType()->getScalarType());
  if (address->getType()->isVectorTy()) base = b_.Splat(base);
  return instruction.modifiers.Has(Modifier::kTo) ? b_.CreateSub(address, base)
                                                  : b_.CreateAdd(address, base);
}

// mapa: the same place in the shared memory of the block with this rank.
llvm::Value* AddressConversion::Map(const Instruction& instruction,
                                    llvm::Value* address,
                                    llvm::Value* rank) const {
  llvm::Value* offset =
      b_.CreateAnd(FromClusterStart(instruction, address),
                   b_.ConstantLike(address, kSharedStrideBytes - 1));
  llvm::Value* block =
      b_.CreateMul(b_.CreateZExtOrTrunc(rank, address->getType()),
                   b_.ConstantLike(address, kSharedStrideBytes));
  llvm::Value* mapped = b_.CreateAdd(offset, block);
  if (SpaceOf(instruction) == Space::kSharedCluster) return mapped;
  return b_.CreateAdd(mapped, ClusterStart(address));
}

// getctarank
llvm::Value* AddressConversion::RankOf(const Instruction& instruction,
                                       llvm::Value* address) const {
  llvm::Value* rank = b_.CreateLShr(
      FromClusterStart(instruction, address),
      b_.ConstantLike(address, std::countr_zero(kSharedStrideBytes)));
  return b_.CreateTrunc(rank, b_.Like(rank, b_.getInt32Ty()));
}

// Returns how far the address is from the shared memory of the cluster's first
// block.
llvm::Value* AddressConversion::FromClusterStart(const Instruction& instruction,
                                                 llvm::Value* address) const {
  if (SpaceOf(instruction) == Space::kSharedCluster) return address;
  return b_.CreateSub(address, ClusterStart(address));
}

llvm::Value* AddressConversion::ClusterStart(llvm::Value* like) const {
  llvm::Value* start =
      b_.CreateZExtOrTrunc(c_.shared_window, like->getType()->getScalarType());
  return like->getType()->isVectorTy() ? b_.Splat(start) : start;
}

}  // namespace holdfast::software::jit
