// SPDX-License-Identifier: Apache-2.0
//
// Loads and stores of lanes whose places do not lie side by side.
//
// With AVX-512, elements of 4 and 8 bytes go by the CPU's gathers and, under a
// mask, its scatters (ByEight). Smaller elements, and all with AVX2, go by one
// scalar access a lane. A lane that does not run never accesses its
// address, which need not be a good one.
#include "core/software/jit/gather.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;
using Kind = AccessSite::Kind;

// Whether the CPU gathers and scatters elements of this size. LLVM would take
// smaller ones apart, and forget whose is whose.
bool Gather::ByEight(Type type) const {
  return c_.lanes() == 16 && ptx::BytesOf(type) >= 4;
}

// `bits`: the lanes that load; null for all.
// The ways:
//
// LoadStrided   all lanes, constant distance, no gathers: scalar addresses
// LoadListed    some lanes, AVX2: a loop over those that run
// LoadByOffset  constant distance, AVX-512: one base, constant offsets
// LoadByEight   any addresses, AVX-512
// LoadOneByOne  any addresses; small elements, or all lanes with AVX2
Value Gather::Load(const Step& step, const Value& address, Type type,
                   llvm::Value* bits) const {
  if (bits == nullptr && !address.shape.varying && !ByEight(type)) {
    return LoadStrided(step, address, type);
  }
  if (bits != nullptr && c_.lanes() == 8)
    return LoadListed(step, address, type, bits);
  if (ByEight(type) && !address.shape.varying) {
    return LoadByOffset(step, address, type, bits);
  }
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* from = v_.Vector(address, c);
    llvm::Value* mask = bits == nullptr ? nullptr : v_.ChunkMask(bits, c);
    if (ByEight(type)) {
      result.parts.push_back(
          LoadByEight(step, v_.Pointer(from), type, mask, c * c_.lanes()));
      continue;
    }
    if (bits != nullptr) {
      // Other lanes read what can be read in any case.
      from = b_.CreateSelect(
          mask, from,
          b_.Splat(b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty())));
    }
    result.parts.push_back(
        LoadOneByOne(step, v_.Pointer(from), type, c * c_.lanes()));
  }
  return result;
}

// Only what the lanes of `bits` ask for: where lanes have parted they are few,
// and so is the code.
// Addresses are in the worker's context while it runs, so that a fault finds
// the lane's.
Value Gather::LoadListed(const Step& step, const Value& address, Type type,
                         llvm::Value* bits) const {
  llvm::Type* element = b_.TypeOf(type);
  llvm::Value* addresses = runtime_.SpillAddresses(address);
  runtime_.NoteLanes(bits);
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    result.parts.push_back(llvm::Constant::getNullValue(b_.VectorOf(element)));
  }
  llvm::AllocaInst* values = arrays_.Spill(result);
  arrays_.ForEachLane(bits, [&](llvm::Value* lane) {
    llvm::Value* from = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* loaded =
        Mark(c_.kernel, step,
             b_.CreateAlignedLoad(element, v_.Pointer(from),
                                  llvm::Align(ptx::BytesOf(type))),
             {Kind::kListed, 0, true});
    b_.CreateStore(loaded, b_.CreateGEP(element, values, lane));
  });
  return arrays_.LoadLanes(values, type);
}

// Half of 16 lanes.
llvm::Value* Gather::Half(llvm::Value* vector, int half) const {
  llvm::SmallVector<int, 8> order;
  for (int i = 0; i < 8; ++i) order.push_back(8 * half + i);
  return b_.CreateShuffleVector(vector, order);
}

llvm::Value* Gather::Whole(llvm::Value* low, llvm::Value* high) const {
  llvm::SmallVector<int, 16> order;
  for (int i = 0; i < 16; ++i) order.push_back(i);
  return b_.CreateShuffleVector(low, high, order);
}

// As the CPU gathers with offsets from one address, which are constants here:
// half as many instructions as with an address a lane. Sixteen lanes at once if
// elements and offsets are of 32 bits, else eight: no gather is taken apart.
Value Gather::LoadByOffset(const Step& step, const Value& address, Type type,
                           llvm::Value* bits) const {
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
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* mask = bits == nullptr ? nullptr : v_.ChunkMask(bits, c);
    llvm::SmallVector<llvm::Value*, 2> parts;
    for (int i = 0; i < 16; i += count) {
      llvm::Value* from = b_.CreateGEP(
          b_.getInt8Ty(), v_.LanePointer(address, c * c_.lanes() + i),
          llvm::ConstantVector::get(offsets));
      parts.push_back(
          Mark(c_.kernel, step,
               b_.CreateMaskedGather(
                   part, from, llvm::Align(ptx::BytesOf(type)),
                   mask == nullptr || count == 16 ? mask : Half(mask, i / 8),
                   llvm::Constant::getNullValue(part)),
               {Kind::kGather, c * c_.lanes() + i, false}));
    }
    result.parts.push_back(count == 16 ? parts[0] : Whole(parts[0], parts[1]));
  }
  return result;
}

// As the CPU gathers, with 64-bit addresses; from lane `lane` on. `mask` may
// be null: all lanes.
llvm::Value* Gather::LoadByEight(const Step& step, llvm::Value* from, Type type,
                                 llvm::Value* mask, int lane) const {
  auto* part = llvm::FixedVectorType::get(b_.TypeOf(type), 8);
  llvm::Value* halves[2];
  for (int h = 0; h < 2; ++h) {
    halves[h] = Mark(c_.kernel, step,
                     b_.CreateMaskedGather(
                         part, Half(from, h), llvm::Align(ptx::BytesOf(type)),
                         mask == nullptr ? nullptr : Half(mask, h),
                         llvm::Constant::getNullValue(part)),
                     {Kind::kGather, lane + 8 * h, false});
  }
  return Whole(halves[0], halves[1]);
}

// A scalar load a lane, whose address is an element of the vector `from`. Every
// load is marked with its own lane, so that a fault names the thread.
llvm::Value* Gather::LoadOneByOne(const Step& step, llvm::Value* from,
                                  Type type, int lane) const {
  llvm::Value* part = llvm::PoisonValue::get(b_.VectorOf(b_.TypeOf(type)));
  for (int i = 0; i < c_.lanes(); ++i) {
    const auto at = static_cast<uint64_t>(i);
    llvm::Value* value = Mark(
        c_.kernel, step,
        b_.CreateAlignedLoad(b_.TypeOf(type), b_.CreateExtractElement(from, at),
                             llvm::Align(ptx::BytesOf(type))),
        {Kind::kOneLane, lane + i, false});
    part = b_.CreateInsertElement(part, value, at);
  }
  return part;
}

// All lanes, at a constant distance that is not the size of an element.
Value Gather::LoadStrided(const Step& step, const Value& address,
                          Type type) const {
  llvm::Type* element = b_.TypeOf(type);
  const llvm::Align align(ptx::BytesOf(type));
  Value result{LaneShape::Varying(), type, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* part = llvm::PoisonValue::get(b_.VectorOf(element));
    for (int i = 0; i < c_.lanes(); ++i) {
      const int lane = c * c_.lanes() + i;
      llvm::Value* value = Mark(
          c_.kernel, step,
          b_.CreateAlignedLoad(element, v_.LanePointer(address, lane), align),
          {Kind::kOneLane, lane, false});
      part = b_.CreateInsertElement(part, value, static_cast<uint64_t>(i));
    }
    result.parts.push_back(part);
  }
  return result;
}

// Where two lanes store to one place, the higher lane's value stays, since the
// CPU writes lanes in ascending order.
// A scatter with 64-bit addresses takes eight lanes, so a chunk is two, the
// lower lanes first.
void Gather::StoreByEight(const Step& step, const Value& address,
                          const Value& value, llvm::Value* bits) const {
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* to = v_.Pointer(v_.Vector(address, c));
    llvm::Value* mask = v_.ChunkMask(bits, c);
    llvm::Value* part = v_.Vector(value, c);
    for (int h = 0; h < 2; ++h) {
      Mark(c_.kernel, step,
           b_.CreateMaskedScatter(Half(part, h), Half(to, h),
                                  llvm::Align(ptx::BytesOf(value.type)),
                                  Half(mask, h)),
           {Kind::kGather, c * c_.lanes() + 8 * h, false});
    }
  }
}

// The lanes `bits` store.
void Gather::Store(const Step& step, const Value& address, const Value& value,
                   llvm::Value* bits) const {
  if (ByEight(value.type)) return StoreByEight(step, address, value, bits);
  const llvm::Align align(ptx::BytesOf(value.type));
  llvm::Value* addresses = runtime_.SpillAddresses(address);
  runtime_.NoteLanes(bits);
  llvm::AllocaInst* values =
      arrays_.Spill(v_.Reshape(value, LaneShape::Varying()));
  llvm::Type* element = b_.TypeOf(value.type);
  arrays_.ForEachLane(bits, [&](llvm::Value* lane) {
    llvm::Value* to = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateGEP(b_.getInt64Ty(), addresses, lane));
    llvm::Value* part =
        b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
    Mark(c_.kernel, step, b_.CreateAlignedStore(part, v_.Pointer(to), align),
         {Kind::kListed, 0, true});
  });
}

// All lanes store, in a row.
// Unrolled, since all 32 run and their numbers are constants; the order of the
// loop is that of lanes.
void Gather::StoreAll(const Step& step, const Value& address,
                      const Value& value) const {
  const llvm::Align align(ptx::BytesOf(value.type));
  for (int lane = 0; lane < analysis::kWarpLanes; ++lane) {
    const int chunk = lane / c_.lanes();
    const auto at = static_cast<uint64_t>(lane % c_.lanes());
    llvm::Value* to =
        address.shape.varying
            ? v_.Pointer(b_.CreateExtractElement(address.parts[chunk], at))
            : v_.LanePointer(address, lane);
    llvm::Value* part =
        value.shape.varying
            ? b_.CreateExtractElement(value.parts[chunk], at)
            : b_.CreateExtractElement(v_.Vector(value, chunk), at);
    Mark(c_.kernel, step, b_.CreateAlignedStore(part, to, align),
         {Kind::kOneLane, lane, false});
  }
}

}  // namespace holdfast::software::jit
