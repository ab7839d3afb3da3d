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
// value, or because an instruction in front of this one has tested it. The
// latter only of large accesses: small ones are many, and with no test between
// them LLVM has the loads of a long block wait in more registers than there are
// (the tiled matmul took 1.5 times as long).
bool KernelEmitter::IsAligned(const Operand& operand, uint64_t bytes) const {
  const auto offset = static_cast<uint64_t>(operand.offset);
  if (operand.kind == Operand::Kind::kRegister) {
    if (bytes < kLarge) return false;
    const auto tested = aligned_.find(operand.index);
    if (tested != aligned_.end() && tested->second.bytes >= bytes &&
        (offset - tested->second.offset) % bytes == 0) {
      return true;
    }
    const Shape& shape =
        shapes_[static_cast<int>(mode_)].registers[operand.index];
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
      if (part->getType()->isVectorTy()) base = Splat(base);
      part = b_.CreateSub(part, base);
    }
    part = b_.CreateAnd(part, ConstantLike(part, bytes - 1));
  }
  llvm::Value* any = AnyMisaligned(low, mask);
  auto* bad = NewBlock("misaligned");
  auto* good = NewBlock("aligned");
  llvm::MDBuilder metadata(context_);
  b_.CreateCondBr(any, bad, good, metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(bad);
  ReportMisaligned(address, mask, bytes);
  b_.SetInsertPoint(good);
  if (operand.kind == Operand::Kind::kRegister &&
      current_->guard.kind == Operand::Kind::kNone) {
    aligned_[operand.index] = {bytes, static_cast<uint64_t>(operand.offset)};
  }
}

// The lanes of `mask` (null: all) access `address`, some of them where they
// must not. The runtime finds out which.
void KernelEmitter::ReportMisaligned(const Value& address, llvm::Value* mask,
                                     uint64_t bytes) {
  llvm::Value* lanes = mask == nullptr ? I32(kAllLanes) : mask;
  if (lane_ != nullptr) lanes = LaneBit();
  const bool varying = address.shape.varying;
  const int parts = static_cast<int>(address.parts.size());
  for (int i = 0; i < parts; ++i) {
    const size_t place = offsetof(WorkerContext, addresses) +
                         sizeof(uint64_t) * i * (varying ? lanes_ : 1);
    b_.CreateAlignedStore(
        address.parts[i],
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_, place),
        llvm::Align(sizeof(uint64_t)));
  }
  const int width = varying ? 1 : lower::kWarpLanes / parts;
  const int64_t stride = varying ? 0 : address.shape.stride;
  NoteInstruction();
  CallRuntime("holdfast_misaligned", b_.getVoidTy(),
              {lanes, I32(static_cast<uint32_t>(bytes)),
               I32(static_cast<uint32_t>(width)),
               llvm::ConstantInt::get(b_.getInt64Ty(), stride, true)});
  b_.CreateUnreachable();
}

// i1. `low`: the bits that must not be set.
llvm::Value* KernelEmitter::AnyMisaligned(const Value& low, llvm::Value* mask) {
  if (mask != nullptr && (low.shape.varying || !low.shape.wide)) {
    return b_.CreateICmpNE(b_.CreateAnd(MisalignedLanes(low), mask), I32(0));
  }
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
  // Without a guard some lane does run.
  if (guard_bits_ == nullptr || mask == nullptr) return any;
  return b_.CreateAnd(any, b_.CreateICmpNE(mask, I32(0)));
}

// i32
llvm::Value* KernelEmitter::MisalignedLanes(const Value& low) {
  Value bad{low.shape, ptx::Type::kPred, {}};
  bad.shape.stride = 0;
  for (llvm::Value* part : low.parts) {
    bad.parts.push_back(
        b_.CreateICmpNE(part, llvm::Constant::getNullValue(part->getType())));
  }
  return BitsOfPredicate(Reshape(bad, Shape::Varying()));
}

}  // namespace holdfast::software::jit
