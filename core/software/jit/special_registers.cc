// SPDX-License-Identifier: Apache-2.0
//
// Registers that are the same for all threads of a launch come from the
// LaunchContext, those of a block or a warp from values of the function.
// Coordinates of threads are computed: a warp has 32 consecutive linear
// numbers, and the extents of a block are constants of its code, unless it is
// code for any row.
#include "core/software/jit/special_registers.h"

#include "core/software/abi/abi.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Special;
using ptx::Type;

namespace {

// Bytes from the beginning of the block's reserved shared memory.
uint32_t OffsetInReserved(Special special) {
  switch (special) {
    case Special::kReservedSmemOffsetEnd:
      return kReservedSharedBytes;
    case Special::kReservedSmemOffset1:
      return kReservedSharedSecond;
    default:
      return 0;
  }
}

}  // namespace

Value SpecialRegisters::Read(Special special) const {
  const Type type = ptx::TypeOf(special);
  const int which = static_cast<int>(special);
  auto axis = [&](Special first) { return which - static_cast<int>(first); };
  switch (special) {
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
      return ReadThreadIndex(special);
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ:
      return Value{ShapeOf(special), type, {c_.extent[axis(Special::kNtidX)]}};
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ:
      return v_.Uniform(type, c_.block_index[axis(Special::kCtaidX)]);
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
      return v_.Uniform(type, c_.grid[axis(Special::kNctaidX)]);
    case Special::kLaneid:
      return Value{ShapeOf(special), type, {b_.I32(0)}};
    case Special::kWarpid:
      return v_.Uniform(type, c_.warp);
    case Special::kNwarpid:
      return v_.Uniform(
          type, b_.CreateLShr(b_.CreateAdd(c_.BlockThreads(), b_.I32(31)), 5));
    case Special::kLanemaskEq:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt:
      return ReadLanemask(special);
    case Special::kClock:
    case Special::kClockHi:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi:
      return ReadClock(special);
    default:
      return ReadLaunch(special);
  }
}

LaneShape SpecialRegisters::ShapeOf(Special special) const {
  return analysis::ShapeOfSpecial(special, c_.block, c_.mode, c_.lanes());
}

// From the thread's linear number in the block, in the shape that the block's
// extents allow; divisions are by constants.
// Where no row of the block ends within a unit, tid.x is affine with stride 1,
// and only its base is computed; else it is a vector of remainders.
Value SpecialRegisters::ReadThreadIndex(Special special) const {
  Value linear{LaneShape{false, true, 1},
               Type::kU32,
               {b_.CreateMul(c_.warp, b_.I32(analysis::kWarpLanes))}};
  Value result{ShapeOf(special), ptx::TypeOf(special), {}};
  for (int c = 0; c < v_.PartsOf(result.shape); ++c) {
    llvm::Value* part =
        result.shape.varying ? v_.Vector(linear, c) : v_.Base(linear, c);
    auto constant = [&](uint32_t value) {
      return llvm::ConstantInt::get(part->getType(), value);
    };
    if (c_.block.row()) {
      if (special != Special::kTidX) part = constant(0);
    } else if (special == Special::kTidX) {
      part = b_.CreateURem(part, constant(c_.block.x));
    } else if (special == Special::kTidY) {
      part = b_.CreateURem(b_.CreateUDiv(part, constant(c_.block.x)),
                           constant(c_.block.y));
    } else {
      part = b_.CreateUDiv(part, constant(c_.block.x * c_.block.y));
    }
    result.parts.push_back(part);
  }
  return result;
}

// 1 << lane, and the ones below it, (1 << lane) - 1; the others are unions and
// complements of these.
Value SpecialRegisters::ReadLanemask(Special special) const {
  Value result{LaneShape::Varying(), Type::kU32, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* equal = b_.CreateShl(b_.Splat(b_.I32(1)), v_.LaneNumbers(c));
    llvm::Value* less = b_.CreateSub(equal, b_.Splat(b_.I32(1)));
    llvm::Value* mask = equal;
    if (special == Special::kLanemaskLt) mask = less;
    if (special == Special::kLanemaskLe) mask = b_.CreateOr(less, equal);
    if (special == Special::kLanemaskGe) mask = b_.CreateNot(less);
    if (special == Special::kLanemaskGt) {
      mask = b_.CreateNot(b_.CreateOr(less, equal));
    }
    result.parts.push_back(mask);
  }
  return result;
}

// Returns cycles of the device's clock, which has 1 GHz, or nanoseconds.
Value SpecialRegisters::ReadClock(Special special) const {
  const bool timer = special >= Special::kGlobaltimer;
  llvm::Value* now = runtime_.Call(
      timer ? "holdfast_globaltimer" : "holdfast_clock", b_.getInt64Ty(), {});
  const Type type = ptx::TypeOf(special);
  if (special == Special::kClockHi || special == Special::kGlobaltimerHi) {
    now = b_.CreateLShr(now, 32);
  }
  return v_.Uniform(type, b_.CreateTrunc(now, b_.TypeOf(type)));
}

// An i32, of %clusterid.x to %cluster_nctarank.
llvm::Value* SpecialRegisters::ReadCluster(Special special) const {
  const auto axis_of = [&](Special first) {
    return static_cast<int>(special) - static_cast<int>(first);
  };
  const auto extent = [&](int axis) {
    return runtime_.LoadField(
        c_.launch,
        offsetof(LaunchContext, cluster) + static_cast<size_t>(axis) * 4,
        b_.getInt32Ty(), true);
  };
  const auto place = [&](int axis) {
    return b_.CreateURem(c_.block_index[axis], extent(axis));
  };
  switch (special) {
    case Special::kClusteridX:
    case Special::kClusteridY:
    case Special::kClusteridZ: {
      const int axis = axis_of(Special::kClusteridX);
      return b_.CreateUDiv(c_.block_index[axis], extent(axis));
    }
    case Special::kNclusteridX:
    case Special::kNclusteridY:
    case Special::kNclusteridZ: {
      const int axis = axis_of(Special::kNclusteridX);
      return b_.CreateUDiv(c_.grid[axis], extent(axis));
    }
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
      return place(axis_of(Special::kClusterCtaidX));
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
      return extent(axis_of(Special::kClusterNctaidX));
    case Special::kClusterCtarank: {
      llvm::Value* row =
          b_.CreateAdd(b_.CreateMul(place(2), extent(1)), place(1));
      return b_.CreateAdd(b_.CreateMul(row, extent(0)), place(0));
    }
    default:
      return b_.CreateMul(b_.CreateMul(extent(0), extent(1)), extent(2));
  }
}

// Reads a special register that is the same for the whole launch, or for a
// block. All run on multiprocessor 0.
Value SpecialRegisters::ReadLaunch(Special special) const {
  const Type type = ptx::TypeOf(special);
  auto field = [&](size_t offset, llvm::Type* kind) {
    return runtime_.LoadField(c_.launch, offset, kind, true);
  };
  llvm::Value* value = llvm::ConstantInt::get(b_.TypeOf(type), 0);
  switch (special) {
    case Special::kEnvreg1:
    case Special::kEnvreg2: {
      llvm::Value* workspace =
          field(offsetof(LaunchContext, grid_workspace), b_.getInt64Ty());
      const uint64_t shift = special == Special::kEnvreg1 ? 32 : 0;
      value = b_.CreateTrunc(b_.CreateLShr(workspace, shift), b_.getInt32Ty());
      break;
    }
    case Special::kDynamicSmemSize:
    case Special::kTotalSmemSize:
      value =
          field(offsetof(LaunchContext, dynamic_shared_bytes), b_.getInt32Ty());
      if (special == Special::kTotalSmemSize) {
        value = b_.CreateAdd(
            value,
            b_.I32(static_cast<uint32_t>(c_.kernel.static_shared_bytes)));
      }
      break;
    case Special::kReservedSmemOffsetCap:
      value = b_.I32(kReservedSharedBytes);
      break;
    case Special::kReservedSmemOffsetBegin:
    case Special::kReservedSmemOffsetEnd:
    case Special::kReservedSmemOffset0:
    case Special::kReservedSmemOffset1:
      value = b_.CreateAdd(
          field(offsetof(LaunchContext, reserved_shared), b_.getInt32Ty()),
          b_.I32(OffsetInReserved(special)));
      break;
    case Special::kIsExplicitCluster:
      value = b_.CreateICmpNE(
          field(offsetof(LaunchContext, explicit_cluster), b_.getInt32Ty()),
          b_.I32(0));
      break;
    case Special::kNsmid:
      value = b_.I32(1);
      break;
    default:
      if (special >= Special::kClusteridX) value = ReadCluster(special);
      break;
  }
  return v_.Uniform(type, value);
}

}  // namespace holdfast::software::jit
