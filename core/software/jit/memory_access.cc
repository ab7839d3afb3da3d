// SPDX-License-Identifier: Apache-2.0
//
// Under a mask, a lane that does not run must not touch its address, which need
// not be a good one. A scalar access for many lanes therefore goes to a place
// that is always good if none of them runs; vector accesses have a mask.
#include "core/software/jit/memory_access.h"

#include "core/software/jit/access_marker.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;
using Kind = AccessSite::Kind;

// A uniform load stays uniform: its value is one scalar, and so is all that is
// computed of it.
Value MemoryAccess::Load(const Step& step, const Value& address,
                         Type type) const {
  llvm::Value* bits = step.lanes.Mask(b_);
  if (address.shape.chunk_uniform()) {
    return LoadUniform(step, address, type, bits);
  }
  if (address.shape.varying || address.shape.stride != ptx::BytesOf(type)) {
    return gather_.Load(step, address, type, bits);
  }
  return LoadContiguous(step, address, type, bits);
}

// One scalar access a warp or a chunk. If none of its lanes runs, it reads a
// place that is good in any case.
Value MemoryAccess::LoadUniform(const Step& step, const Value& address,
                                Type type, llvm::Value* bits) const {
  llvm::Type* element = b_.TypeOf(type);
  const llvm::Align align(ptx::BytesOf(type));
  Value result{address.shape, type, {}};
  if (bits != nullptr) runtime_.NoteLanes(bits);
  for (size_t c = 0; c < address.parts.size(); ++c) {
    llvm::Value* from = address.parts[c];
    if (bits != nullptr) {
      llvm::Value* active = bits;
      if (!address.shape.wide) {
        const uint32_t chunk = c_.lanes() == 16 ? 0xFFFF : 0xFF;
        active = b_.CreateAnd(bits, b_.I32(chunk << (c * c_.lanes())));
      }
      from = addresses_.SafeAddress(from, b_.CreateICmpNE(active, b_.I32(0)));
    }
    result.parts.push_back(Mark(
        c_.kernel, step, b_.CreateAlignedLoad(element, v_.Pointer(from), align),
        {Kind::kSame, static_cast<int>(c) * c_.lanes(),
         bits != nullptr || step.lanes.alone()}));
  }
  return result;
}

// One vector access a chunk.
// The address of a chunk's first lane is that of the vector. PTX aligns each
// element, not the vector. With a mask, the CPU does not fault for lanes that
// are off, so that the vector may reach into memory that is not there.
Value MemoryAccess::LoadContiguous(const Step& step, const Value& address,
                                   Type type, llvm::Value* bits) const {
  llvm::Type* element = b_.TypeOf(type);
  const llvm::Align align(ptx::BytesOf(type));
  Value result{LaneShape::Varying(), type, {}};
  if (bits != nullptr) runtime_.NoteLanes(bits);
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* from = v_.Pointer(v_.Base(address, c));
    if (bits == nullptr) {
      result.parts.push_back(
          Mark(c_.kernel, step,
               b_.CreateAlignedLoad(b_.VectorOf(element), from, align),
               {Kind::kLanes, c * c_.lanes(), false}));
    } else {
      result.parts.push_back(
          Mark(c_.kernel, step,
               b_.CreateMaskedLoad(b_.VectorOf(element), from, align,
                                   v_.ChunkMask(bits, c)),
               {Kind::kLanes, c * c_.lanes(), true}));
    }
  }
  return result;
}

void MemoryAccess::Store(const Step& step, const Value& address,
                         const Value& value) const {
  llvm::Value* bits = step.lanes.Mask(b_);
  if (address.shape.uniform()) return StoreUniform(step, address, value, bits);
  if (address.shape.varying ||
      address.shape.stride != ptx::BytesOf(value.type)) {
    return bits == nullptr ? gather_.StoreAll(step, address, value)
                           : gather_.Store(step, address, value, bits);
  }
  // On such CPUs a loop over the lanes that run is faster than a masked store.
  if (bits != nullptr && c_.cpu.slow_masked_stores) {
    return gather_.Store(step, address, value, bits);
  }
  StoreContiguous(step, address, value, bits);
}

// One vector access a chunk.
void MemoryAccess::StoreContiguous(const Step& step, const Value& address,
                                   const Value& value,
                                   llvm::Value* bits) const {
  const llvm::Align align(ptx::BytesOf(value.type));
  if (bits != nullptr) runtime_.NoteLanes(bits);
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* to = v_.Pointer(v_.Base(address, c));
    llvm::Value* part = v_.Vector(value, c);
    if (bits == nullptr) {
      Mark(c_.kernel, step, b_.CreateAlignedStore(part, to, align),
           {Kind::kLanes, c * c_.lanes(), false});
    } else {
      Mark(c_.kernel, step,
           b_.CreateMaskedStore(part, to, align, v_.ChunkMask(bits, c)),
           {Kind::kLanes, c * c_.lanes(), true});
    }
  }
}

// All lanes store to one place: the highest active lane stays.
void MemoryAccess::StoreUniform(const Step& step, const Value& address,
                                const Value& value, llvm::Value* bits) const {
  const llvm::Align align(ptx::BytesOf(value.type));
  auto* store = b_.NewBlock("store");
  auto* after = b_.NewBlock("stored");
  if (bits == nullptr) bits = b_.I32(~0u);
  b_.CreateCondBr(b_.CreateICmpNE(bits, b_.I32(0)), store, after);
  b_.SetInsertPoint(store);
  runtime_.NoteLanes(bits);
  llvm::Value* scalar = value.parts[0];
  if (!value.shape.uniform()) {
    // The number of the highest bit.
    llvm::Value* lane = b_.CreateSub(
        b_.I32(31),
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b_.getTrue()));
    llvm::AllocaInst* values =
        arrays_.Spill(v_.Reshape(value, LaneShape::Varying()));
    llvm::Type* element = b_.TypeOf(value.type);
    scalar = b_.CreateLoad(element, b_.CreateGEP(element, values, lane));
  }
  Mark(c_.kernel, step,
       b_.CreateAlignedStore(scalar, v_.Pointer(address.parts[0]), align),
       {Kind::kSame, 0, true});
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace holdfast::software::jit
