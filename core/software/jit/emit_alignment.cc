// SPDX-License-Identifier: Apache-2.0
//
// What a CPU accepts and a GPU does not: addresses that are not a multiple of
// the size of the access. The lowest bits of all lanes' addresses are tested
// together, and only where the compiler cannot know them.
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using lower::Shape;
using ptx::Operand;
using ptx::Space;

namespace {

constexpr uint32_t kAllLanes = 0xFFFFFFFF;

constexpr uint64_t kLarge = 8;  // bytes

}  // namespace

// Of a variable, by its declaration; of a register, by what is known of its
// value, or because an instruction in front of this one has tested it. Not of
// small accesses side by side: they are many, and with no test between
// them LLVM has the loads of a long block wait in more registers than there are
// (the tiled matmul took 1.5 times as long).
bool KernelEmitter::IsAligned(const Operand& operand, uint64_t bytes) const {
  const auto offset = static_cast<uint64_t>(operand.offset);
  if (operand.kind == Operand::Kind::kRegister) {
    const Shape& shape =
        shapes_[static_cast<int>(mode_)].registers[operand.index];
    if (bytes < kLarge && !shape.varying) return false;
    const auto tested = aligned_.find(operand.index);
    if (tested != aligned_.end() && tested->second.bytes >= bytes &&
        (offset - tested->second.offset) % bytes == 0) {
      return true;
    }
    return !shape.varying && (uint64_t{1} << shape.zeros) % bytes == 0 &&
           static_cast<uint64_t>(shape.stride) % bytes == 0 &&
           offset % bytes == 0;
  }
  if (operand.kind != Operand::Kind::kVariable &&
      operand.kind != Operand::Kind::kLocalVariable) {
    return false;
  }
  return kernel_.VariableOf(operand).alignment % bytes == 0 &&
         offset % bytes == 0;
}

// `address` is what `current_` accesses at `operand`.
void KernelEmitter::CheckAlignment(const Operand& operand, Space space,
                                   const Value& address) {
  const auto bytes = static_cast<uint64_t>(lower::AccessBytes(*current_));
  if (bytes <= 1 || space == Space::kParam || IsAligned(operand, bytes)) return;
  llvm::Value* mask = LaneMask();
  const bool together =
      !address.shape.varying &&
      static_cast<uint64_t>(address.shape.stride) % bytes == 0;
  Value low = together ? address : Reshape(address, Shape::Varying());
  for (llvm::Value*& part : low.parts) {
    // The base of shared memory is aligned.
    if (space == Space::kShared) {
      llvm::Value* base = shared_;
      if (part->getType()->isVectorTy()) base = b_.Splat(base);
      part = b_.CreateSub(part, base);
    }
    part = b_.CreateAnd(part, b_.ConstantLike(part, bytes - 1));
  }
  auto* good = b_.NewBlock("aligned");
  if (mask != nullptr && low.parts.size() > 1) {
    // Lanes that do not run have addresses too, which seldom are bad ones.
    BranchIfAny(low, b_.NewBlock("suspect"), good);
    llvm::Value* addresses = SpillAddresses(address);
    auto* bad = b_.NewBlock("misaligned");
    ForEachLane(mask, [&](llvm::Value* lane) {
      llvm::Value* one = b_.CreateLoad(
          b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
      auto* next = b_.NewBlock("next");
      one = b_.CreateAnd(one, b_.ConstantLike(one, bytes - 1));
      b_.CreateCondBr(b_.CreateICmpNE(one, b_.ConstantLike(one, 0)), bad, next);
      b_.SetInsertPoint(next);
    });
    b_.CreateBr(good);
    b_.SetInsertPoint(bad);
    ReportMisaligned(mask, bytes, 1, 0);
  } else {
    if (guard_bits_ != nullptr && mask != nullptr) {
      // Without a guard some lane does run.
      llvm::Value* some = b_.CreateICmpNE(mask, b_.I32(0));
      low.parts[0] =
          b_.CreateSelect(some, low.parts[0], b_.ConstantLike(low.parts[0], 0));
    }
    BranchIfAny(low, b_.NewBlock("misaligned"), good);
    const int parts = static_cast<int>(address.parts.size());
    const bool varying = address.shape.varying;
    for (int i = 0; i < parts; ++i) {
      const size_t place = offsetof(WorkerContext, addresses) +
                           sizeof(uint64_t) * i * (varying ? lanes_ : 1);
      b_.CreateAlignedStore(
          address.parts[i],
          b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_, place),
          llvm::Align(sizeof(uint64_t)));
    }
    ReportMisaligned(mask, bytes, varying ? 1 : lower::kWarpLanes / parts,
                     varying ? 0 : address.shape.stride);
  }
  b_.SetInsertPoint(good);
  if (operand.kind == Operand::Kind::kRegister &&
      current_->guard.kind == Operand::Kind::kNone) {
    aligned_[operand.index] = {bytes, static_cast<uint64_t>(operand.offset)};
  }
}

// Goes to `bad`, and emits there, if one of the bits is set.
void KernelEmitter::BranchIfAny(const Value& low, llvm::BasicBlock* bad,
                                llvm::BasicBlock* good) {
  llvm::Value* bits = low.parts[0];
  for (size_t c = 1; c < low.parts.size(); ++c) {
    bits = b_.CreateOr(bits, low.parts[c]);
  }
  llvm::Value* any =
      b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  if (low.shape.varying) {
    any = b_.CreateBitCast(any, b_.getIntNTy(lanes_));
    any = b_.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType()));
  }
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(any, bad, good, metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(bad);
}

// The lanes of `mask` (null: all) access addresses that stand in the worker's
// context (see holdfast_misaligned), some of them where they must not. The
// runtime finds out which.
void KernelEmitter::ReportMisaligned(llvm::Value* mask, uint64_t bytes,
                                     int width, int64_t stride) {
  llvm::Value* lanes = mask == nullptr ? b_.I32(kAllLanes) : mask;
  if (lane_ != nullptr) lanes = LaneBit();
  NoteInstruction();
  CallRuntime("holdfast_misaligned", b_.getVoidTy(),
              {lanes, b_.I32(static_cast<uint32_t>(bytes)),
               b_.I32(static_cast<uint32_t>(width)),
               llvm::ConstantInt::get(b_.getInt64Ty(), stride, true)});
  b_.CreateUnreachable();
}

}  // namespace holdfast::software::jit
