// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of lanes whose places do not lie side by side.
//
// With AVX-512, elements of 4 and 8 bytes go by the CPU's gathers and, under a
// mask, its scatters (ByEight). Smaller elements, and all with AVX2, go by one
// scalar access a lane. A lane that does not run never accesses its
// address, which need not be a good one.
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;
using Kind = AccessSite::Kind;

// Whether the CPU gathers and scatters elements of this size. LLVM would take
// smaller ones apart, and forget whose is whose.
bool KernelEmitter::ByEight(Type type) const {
  return lanes_ == 16 && ptx::BytesOf(type) >= 4;
}

// `bits`: the lanes that load; null for all.
Value KernelEmitter::Gather(const Value& address, Type type,
                            llvm::Value* bits) {
  if (bits != nullptr && lanes_ == 8) return GatherListed(address, type, bits);
  if (ByEight(type) && !address.shape.varying) {
    return GatherByOffset(address, type, bits);
  }
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* from = Vector(address, c);
    llvm::Value* mask = bits == nullptr ? nullptr : ChunkMask(bits, c);
    if (ByEight(type)) {
      result.parts.push_back(
          GatherByEight(Pointer(from), type, mask, c * lanes_));
      continue;
    }
    if (bits != nullptr) {
      // Other lanes read what can be read in any case.
      from = b_.CreateSelect(
          mask, from,
          b_.Splat(b_.CreatePtrToInt(parameters_, b_.getInt64Ty())));
    }
    result.parts.push_back(GatherOneByOne(Pointer(from), type, c * lanes_));
  }
  return result;
}

// Only what the lanes of `bits` ask for: where lanes have parted they are few,
// and so is the code.
Value KernelEmitter::GatherListed(const Value& address, Type type,
                                  llvm::Value* bits) {
  llvm::Type* element = b_.TypeOf(type);
  llvm::Value* addresses = SpillAddresses(address);
  NoteLanes(bits);
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    result.parts.push_back(llvm::Constant::getNullValue(b_.VectorOf(element)));
  }
  llvm::AllocaInst* values = Spill(result);
  ForEachLane(bits, [&](llvm::Value* lane) {
    llvm::Value* from = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* loaded =
        Mark(b_.CreateAlignedLoad(element, Pointer(from),
                                  llvm::Align(ptx::BytesOf(type))),
             Kind::kListed, 0, true);
    b_.CreateStore(loaded, b_.CreateGEP(element, values, lane));
  });
  return LoadLanes(values, type);
}

// Half of 16 lanes.
llvm::Value* KernelEmitter::Half(llvm::Value* vector, int half) {
  llvm::SmallVector<int, 8> order;
  for (int i = 0; i < 8; ++i) order.push_back(8 * half + i);
  return b_.CreateShuffleVector(vector, order);
}

llvm::Value* KernelEmitter::Whole(llvm::Value* low, llvm::Value* high) {
  llvm::SmallVector<int, 16> order;
  for (int i = 0; i < 16; ++i) order.push_back(i);
  return b_.CreateShuffleVector(low, high, order);
}

// As the CPU gathers with offsets from one address, which are constants here:
// half as many instructions as with an address a lane. Sixteen lanes at once if
// elements and offsets are of 32 bits, else eight: no gather is taken apart.
Value KernelEmitter::GatherByOffset(const Value& address, Type type,
                                    llvm::Value* bits) {
  int32_t reach = 0;
  const bool narrow = ptx::BytesOf(type) == 4 &&
                      !__builtin_mul_overflow(address.shape.stride, 15, &reach);
  const int count = narrow ? 16 : 8;
  auto* part = llvm::FixedVectorType::get(b_.TypeOf(type), count);
  llvm::SmallVector<llvm::Constant*, 16> offsets;
  for (int i = 0; i < count; ++i) {
    offsets.push_back(b_.getInt64(static_cast<uint64_t>(address.shape.stride) *
                                  static_cast<uint64_t>(i)));
  }
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* mask = bits == nullptr ? nullptr : ChunkMask(bits, c);
    llvm::SmallVector<llvm::Value*, 2> parts;
    for (int i = 0; i < 16; i += count) {
      llvm::Value* from =
          b_.CreateGEP(b_.getInt8Ty(), LanePointer(address, c * lanes_ + i),
                       llvm::ConstantVector::get(offsets));
      parts.push_back(
          Mark(b_.CreateMaskedGather(
                   part, from, llvm::Align(ptx::BytesOf(type)),
                   mask == nullptr || count == 16 ? mask : Half(mask, i / 8),
                   llvm::Constant::getNullValue(part)),
               Kind::kGather, c * lanes_ + i, false));
    }
    result.parts.push_back(count == 16 ? parts[0] : Whole(parts[0], parts[1]));
  }
  return result;
}

// As the CPU gathers, with 64-bit addresses; from lane `lane` on. `mask` may
// be null: all lanes.
llvm::Value* KernelEmitter::GatherByEight(llvm::Value* from, Type type,
                                          llvm::Value* mask, int lane) {
  auto* part = llvm::FixedVectorType::get(b_.TypeOf(type), 8);
  llvm::Value* halves[2];
  for (int h = 0; h < 2; ++h) {
    halves[h] = Mark(b_.CreateMaskedGather(
                         part, Half(from, h), llvm::Align(ptx::BytesOf(type)),
                         mask == nullptr ? nullptr : Half(mask, h),
                         llvm::Constant::getNullValue(part)),
                     Kind::kGather, lane + 8 * h, false);
  }
  return Whole(halves[0], halves[1]);
}

llvm::Value* KernelEmitter::GatherOneByOne(llvm::Value* from, Type type,
                                           int lane) {
  llvm::Value* part = llvm::PoisonValue::get(b_.VectorOf(b_.TypeOf(type)));
  for (int i = 0; i < lanes_; ++i) {
    const auto at = static_cast<uint64_t>(i);
    llvm::Value* value = Mark(
        b_.CreateAlignedLoad(b_.TypeOf(type), b_.CreateExtractElement(from, at),
                             llvm::Align(ptx::BytesOf(type))),
        Kind::kOneLane, lane + i, false);
    part = b_.CreateInsertElement(part, value, at);
  }
  return part;
}

// Returns the pointer of one lane. REQUIRES: the addresses are affine.
llvm::Value* KernelEmitter::LanePointer(const Value& address, int lane) {
  const uint64_t offset = static_cast<uint64_t>(address.shape.stride) *
                          static_cast<uint64_t>(lane % lanes_);
  return Pointer(
      b_.CreateAdd(Base(address, lane / lanes_), b_.getInt64(offset)));
}

// All lanes, at a constant distance that is not the size of an element.
Value KernelEmitter::GatherStrided(const Value& address, Type type) {
  if (ByEight(type)) return Gather(address, type, nullptr);
  llvm::Type* element = b_.TypeOf(type);
  const llvm::Align align(ptx::BytesOf(type));
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* part = llvm::PoisonValue::get(b_.VectorOf(element));
    for (int i = 0; i < lanes_; ++i) {
      const int lane = c * lanes_ + i;
      llvm::Value* value =
          Mark(b_.CreateAlignedLoad(element, LanePointer(address, lane), align),
               Kind::kOneLane, lane, false);
      part = b_.CreateInsertElement(part, value, static_cast<uint64_t>(i));
    }
    result.parts.push_back(part);
  }
  return result;
}

// The lanes' addresses as an array, where a report of a fault finds them.
llvm::Value* KernelEmitter::SpillAddresses(const Value& addresses) {
  llvm::Value* array = b_.CreateConstInBoundsGEP1_64(
      b_.getInt8Ty(), worker_, offsetof(WorkerContext, addresses));
  const Value lanes = Reshape(addresses, LaneShape::Varying());
  for (int c = 0; c < chunks_; ++c) {
    b_.CreateAlignedStore(
        lanes.parts[c],
        b_.CreateConstGEP1_32(b_.getInt64Ty(), array, c * lanes_),
        llvm::Align(8));
  }
  return array;
}

// The lanes' values as an array on the stack.
llvm::AllocaInst* KernelEmitter::Spill(const Value& value) {
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::AllocaInst* array =
      b_.AllocaAtEntry(llvm::ArrayType::get(element, analysis::kWarpLanes));
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  for (int c = 0; c < chunks_; ++c) {
    b_.CreateAlignedStore(value.parts[c],
                          b_.CreateConstGEP1_32(element, array, c * lanes_),
                          align);
  }
  return array;
}

// Lowest lane first.
void KernelEmitter::ForEachLane(llvm::Value* bits,
                                const std::function<void(llvm::Value*)>& body) {
  auto* before = b_.GetInsertBlock();
  auto* loop = b_.NewBlock("lanes");
  auto* after = b_.NewBlock("lanes.done");
  b_.CreateCondBr(b_.CreateICmpEQ(bits, b_.I32(0)), after, loop);
  b_.SetInsertPoint(loop);
  auto* rest = b_.CreatePHI(b_.getInt32Ty(), 2);
  rest->addIncoming(bits, before);
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, b_.getTrue());
  body(lane);
  llvm::Value* left = b_.CreateAnd(rest, b_.CreateSub(rest, b_.I32(1)));
  rest->addIncoming(left, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(left, b_.I32(0)), after, loop);
  b_.SetInsertPoint(after);
}

// Where two lanes store to one place, the higher lane's value stays, since the
// CPU writes lanes in ascending order.
void KernelEmitter::ScatterByEight(const Value& address, const Value& value,
                                   llvm::Value* bits) {
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* to = Pointer(Vector(address, c));
    llvm::Value* mask = ChunkMask(bits, c);
    llvm::Value* part = Vector(value, c);
    for (int h = 0; h < 2; ++h) {
      Mark(b_.CreateMaskedScatter(Half(part, h), Half(to, h),
                                  llvm::Align(ptx::BytesOf(value.type)),
                                  Half(mask, h)),
           Kind::kGather, c * lanes_ + 8 * h, false);
    }
  }
}

// The lanes `bits` store.
void KernelEmitter::Scatter(const Value& address, const Value& value,
                            llvm::Value* bits) {
  if (ByEight(value.type)) return ScatterByEight(address, value, bits);
  const llvm::Align align(ptx::BytesOf(value.type));
  llvm::Value* addresses = SpillAddresses(address);
  NoteLanes(bits);
  llvm::AllocaInst* values = Spill(Reshape(value, LaneShape::Varying()));
  llvm::Type* element = b_.TypeOf(value.type);
  ForEachLane(bits, [&](llvm::Value* lane) {
    llvm::Value* to = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* part =
        b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
    Mark(b_.CreateAlignedStore(part, Pointer(to), align), Kind::kListed, 0,
         true);
  });
}

// All lanes store, in a row.
void KernelEmitter::ScatterAll(const Value& address, const Value& value) {
  const llvm::Align align(ptx::BytesOf(value.type));
  for (int lane = 0; lane < analysis::kWarpLanes; ++lane) {
    const int chunk = lane / lanes_;
    const auto at = static_cast<uint64_t>(lane % lanes_);
    llvm::Value* to =
        address.shape.varying
            ? Pointer(b_.CreateExtractElement(address.parts[chunk], at))
            : LanePointer(address, lane);
    llvm::Value* part = value.shape.varying
                            ? b_.CreateExtractElement(value.parts[chunk], at)
                            : b_.CreateExtractElement(Vector(value, chunk), at);
    Mark(b_.CreateAlignedStore(part, to, align), Kind::kOneLane, lane, false);
  }
}

}  // namespace holdfast::software::jit
