// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/window_check.h"

#include "core/software/abi/shared_memory.h"
#include "core/software/abi/window.h"
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Space;

namespace {

constexpr uint64_t kLarge = 8;  // bytes

// How far from a tested address an access surely faults or finds memory of
// kernels. Twice as far is reserved: for lanes and offset together.
uint64_t ReachOf(Space space) {
  return space == Space::kShared ? kSharedReachBytes / 2
                                 : kWindowGuardBytes / 2;
}

// Whether all lanes lie within reach of the first one of their unit.
bool LanesAreNear(const LaneShape& shape, Space space) {
  const auto limit =
      static_cast<int64_t>(ReachOf(space) / (2 * analysis::kWarpLanes));
  return !shape.varying && -limit <= shape.stride && shape.stride <= limit;
}

// Whether `offset` is within reach of 0.
bool IsNear(int64_t offset, Space space) {
  const auto reach = static_cast<int64_t>(ReachOf(space));
  return -reach <= offset && offset <= reach;
}

}  // namespace

// By its declaration a variable lies where it may, and is aligned. An offset
// that is added to it may lead elsewhere, and so may an instruction that takes
// it for a variable of another memory.
bool WindowCheck::IsGoodVariable(const CheckedAccess& access) const {
  const Space space = access.space;
  const ptx::Variable& variable = c_.kernel.VariableOf(access.operand);
  const auto offset = static_cast<uint64_t>(access.operand.offset);
  if (space != Space::kParam &&
      (variable.alignment % access.bytes != 0 || offset % access.bytes != 0)) {
    return false;
  }
  const bool generic = !IsShared(space) && space != Space::kParam;
  const auto place = [&] { return c_.kernel.AddressOf(access.operand); };
  switch (variable.space) {
    case Space::kGlobal:
    case Space::kConst:
      return generic && IsNear(access.operand.offset, space);
    case Space::kParam:
      return space == Space::kParam &&
             IsNear(static_cast<int64_t>(place()), space);
    case Space::kShared:
      return IsShared(space) && place() < kSharedWindowBytes;
    case Space::kLocal: {
      const auto stride = static_cast<int64_t>(c_.kernel.local_bytes);
      return generic && LanesAreNear({false, true, stride}, space) &&
             IsNear(static_cast<int64_t>(place()), space);
    }
    default:
      return false;
  }
}

// Small accesses side by side are tested again. They are many, and with no test
// between them LLVM has the loads of a long block wait in more registers than
// there are (the tiled matmul took 1.5 times as long). Bytes are few in such
// blocks, and a lane that runs alone needs few registers.
bool WindowCheck::IsCovered(const CheckedAccess& access,
                            const TestedAddress& known) const {
  const uint64_t bytes = access.bytes;
  if (!known.good || known.bytes < bytes) return false;
  const bool small = bytes > 1 && bytes < kLarge && !access.step.lanes.alone();
  if (small && !access.address.shape.varying) return false;
  const auto distance =
      static_cast<int64_t>(static_cast<uint64_t>(access.operand.offset) -
                           static_cast<uint64_t>(known.offset));
  return static_cast<uint64_t>(distance) % bytes == 0 &&
         IsNear(distance, access.space);
}

llvm::Value* WindowCheck::FromBase(llvm::Value* part, bool shared) const {
  llvm::Value* base = shared ? c_.shared : b_.getInt64(GetKernelWindow().base);
  if (part->getType()->isVectorTy()) base = b_.Splat(base);
  return shared ? b_.CreateSub(part, base) : b_.CreateXor(part, base);
}

// The test leaves out lanes that do not take part only where masks cost
// nothing. Elsewhere it is cheaper to ask when an address is bad.
AddressTest WindowCheck::Test(const CheckedAccess& access) const {
  const Value& address = access.address;
  const bool together =
      static_cast<uint64_t>(address.shape.stride) % access.bytes == 0 &&
      LanesAreNear(address.shape, access.space);
  const Value tested =
      together ? address : v_.Reshape(address, LaneShape::Varying());
  const bool shared = access.space == Space::kShared;
  llvm::Value* mask = access.step.lanes.Mask(b_);
  const bool select =
      mask != nullptr && tested.shape.varying && c_.lanes() == 16;
  llvm::Value* sum = nullptr;
  for (size_t c = 0; c < tested.parts.size(); ++c) {
    llvm::Value* part = FromBase(tested.parts[c], shared);
    if (select) {
      part = b_.CreateSelect(v_.ChunkMask(mask, static_cast<int>(c)), part,
                             b_.ConstantLike(part, 0));
    }
    sum = sum == nullptr ? part : b_.CreateOr(sum, part);
  }
  const uint64_t size = shared ? kSharedWindowBytes : GetKernelWindow().size;
  llvm::Value* bits =
      b_.CreateAnd(sum, b_.ConstantLike(sum, ~(size - 1) | (access.bytes - 1)));
  return {b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType())),
          mask == nullptr || select};
}

}  // namespace holdfast::software::jit
