// SPDX-License-Identifier: Apache-2.0
//
// The test that code makes of an address before it goes there: that it lies
// where kernels may go, and that it is a multiple of the size of the access,
// which a CPU would not mind.
//
// Where kernels may go is the window (abi/window.h), a power of two in
// size that starts at a multiple of it. So both questions are one: with a 1
// for each bit that the window's addresses have in common, and for each bit
// that must be zero,
//
//   ((address ^ base) & (~(window - 1) | (bytes - 1))) == 0
//
// The results of ^ of all lanes are joined by | first, and tested once. An
// offset into shared memory is tested in the same way, against the least power
// of two that an arena fits into.
//
// Not every access needs a test of its own. Nothing is ever mapped near the
// window (kWindowGuardBytes) or near an arena, and each has a reach of half
// that room: of lanes at a constant distance, only the first is tested, if the
// last one is within reach of it; and what was tested for a register holds for
// other offsets from that register within reach.
//
// The tested value is the accessed one, whatever LLVM makes of it: an address
// is frozen before it is tested, since LLVM may take a value that is poison for
// another one at each use. An access never comes before its test, because LLVM
// moves no access over a branch unless it knows that the address is good, which
// it cannot know of a number.
#include "core/software/abi/abi.h"
#include "core/software/abi/shared_memory.h"
#include "core/software/abi/window.h"
#include "core/software/jit/addresses.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Operand;
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
bool Addresses::IsGoodVariable(const Operand& operand, Space space,
                               uint64_t bytes) const {
  const ptx::Variable& variable = c_.kernel.VariableOf(operand);
  const auto offset = static_cast<uint64_t>(operand.offset);
  if (space != Space::kParam &&
      (variable.alignment % bytes != 0 || offset % bytes != 0)) {
    return false;
  }
  const bool generic = !IsShared(space) && space != Space::kParam;
  switch (variable.space) {
    case Space::kGlobal:
    case Space::kConst:
      return generic && IsNear(operand.offset, space);
    case Space::kParam:
      return space == Space::kParam &&
             IsNear(static_cast<int64_t>(c_.kernel.AddressOf(operand)), space);
    case Space::kShared:
      return IsShared(space) &&
             c_.kernel.AddressOf(operand) < kSharedWindowBytes;
    case Space::kLocal: {
      const auto stride = static_cast<int64_t>(c_.kernel.local_bytes);
      return generic && LanesAreNear({false, true, stride}, space) &&
             IsNear(static_cast<int64_t>(c_.kernel.AddressOf(operand)), space);
    }
    default:
      return false;
  }
}

// Because an instruction in front of this one has tested the register. Not of
// small accesses side by side: they are many, and with no test between
// them LLVM has the loads of a long block wait in more registers than there are
// (the tiled matmul took 1.5 times as long). Bytes are few in such blocks, and
// a lane that runs alone needs few registers.
bool Addresses::IsTested(const Step& step, const Operand& operand, Space space,
                         const Value& address, uint64_t bytes) const {
  const TestedAddress* tested = notes_.FindAddress(operand.index, space);
  if (tested == nullptr || !tested->good || tested->bytes < bytes) return false;
  const bool small = bytes > 1 && bytes < kLarge && !step.lanes.alone();
  if (small && !address.shape.varying) return false;
  const auto distance =
      static_cast<int64_t>(static_cast<uint64_t>(operand.offset) -
                           static_cast<uint64_t>(tested->offset));
  return static_cast<uint64_t>(distance) % bytes == 0 &&
         IsNear(distance, space);
}

void Addresses::Check(const Step& step, const Operand& operand, Space space,
                      const Value& address) const {
  // Parameters may lie anywhere.
  const uint64_t bytes =
      space == Space::kParam
          ? 1
          : static_cast<uint64_t>(lower::AccessBytes(step.instruction));
  const bool is_register = operand.kind == Operand::Kind::kRegister;
  const bool is_variable = operand.kind == Operand::Kind::kVariable ||
                           operand.kind == Operand::Kind::kLocalVariable;
  const bool exact = IsExact(space);
  if (is_variable && IsGoodVariable(operand, space, bytes) &&
      (!exact || IsWithin(operand, bytes))) {
    return;
  }
  if (is_register && !exact && IsTested(step, operand, space, address, bytes)) {
    return;
  }
  auto* bad = b_.NewBlock("bad_address");
  auto* good = b_.NewBlock("good_address");
  bool sure = false;
  if (exact) {
    BranchIfOutside(step, address, space, bytes, bad, good);
  } else {
    sure = BranchIfBad(step, address, space, bytes, bad, good);
  }
  Report(step, address, space, bytes, sure);
  if (sure) {
    b_.CreateUnreachable();
  } else {
    b_.CreateBr(good);
  }
  b_.SetInsertPoint(good);
  if (is_register && !step.guarded()) NoteGood(operand, space, bytes);
}

// The note is StartOf's. There may be none, or one of another space, where an
// instruction has one register for two addresses: such an entry's parts are not
// what was tested.
void Addresses::NoteGood(const Operand& operand, Space space,
                         uint64_t bytes) const {
  TestedAddress* tested = notes_.FindAddress(operand.index, space);
  if (tested == nullptr) return;
  tested->good = true;
  tested->bytes = bytes;
  tested->offset = operand.offset;
}

// Goes to `bad`, and emits there, if some lane's address is bad. Returns
// whether that is sure: else it may be the address of lanes that stay away,
// which is cheaper to find out there.
bool Addresses::BranchIfBad(const Step& step, const Value& address, Space space,
                            uint64_t bytes, llvm::BasicBlock* bad,
                            llvm::BasicBlock* good) const {
  const bool together =
      static_cast<uint64_t>(address.shape.stride) % bytes == 0 &&
      LanesAreNear(address.shape, space);
  const Value tested =
      together ? address : v_.Reshape(address, LaneShape::Varying());
  const bool shared = space == Space::kShared;
  const KernelWindow& window = GetKernelWindow();
  const uint64_t size = shared ? kSharedWindowBytes : window.size;
  llvm::Value* mask = step.lanes.Mask(b_);
  // Masks cost nothing there.
  const bool select =
      mask != nullptr && tested.shape.varying && c_.lanes() == 16;
  llvm::Value* sum = nullptr;
  for (size_t c = 0; c < tested.parts.size(); ++c) {
    llvm::Value* part = tested.parts[c];
    llvm::Value* base = shared ? c_.shared : b_.getInt64(window.base);
    if (part->getType()->isVectorTy()) base = b_.Splat(base);
    part = shared ? b_.CreateSub(part, base) : b_.CreateXor(part, base);
    if (select) {
      part = b_.CreateSelect(v_.ChunkMask(mask, static_cast<int>(c)), part,
                             b_.ConstantLike(part, 0));
    }
    sum = sum == nullptr ? part : b_.CreateOr(sum, part);
  }
  llvm::Value* bits =
      b_.CreateAnd(sum, b_.ConstantLike(sum, ~(size - 1) | (bytes - 1)));
  llvm::Value* any =
      b_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  if (any->getType()->isVectorTy()) {
    any = b_.CreateBitCast(any, b_.getIntNTy(c_.lanes()));
    any = b_.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType()));
  }
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(any, bad, good, metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(bad);
  return mask == nullptr || select;
}

// The running lanes are about to go to their addresses, some of which are bad:
// surely, or perhaps. The runtime looks at each, and comes back if none is.
void Addresses::Report(const Step& step, const Value& address, Space space,
                       uint64_t bytes, bool sure) const {
  const bool varying = address.shape.varying;
  const int parts = static_cast<int>(address.parts.size());
  for (int i = 0; i < parts; ++i) {
    const size_t place = offsetof(WorkerContext, addresses) +
                         sizeof(uint64_t) * i * (varying ? c_.lanes() : 1);
    b_.CreateAlignedStore(address.parts[i], runtime_.WorkerField(place),
                          llvm::Align(sizeof(uint64_t)));
  }
  llvm::Value* lanes = step.lanes.MaskOrAll(b_);
  if (step.lanes.alone()) lanes = step.lanes.LaneBit(b_);
  runtime_.NoteInstruction(step);
  const int width = varying ? 1 : analysis::kWarpLanes / parts;
  const auto room =
      space == Space::kShared ? AddressRoom::kShared : AddressRoom::kWindow;
  llvm::SmallVector<llvm::Value*, 6> in = {
      lanes, b_.I32(static_cast<uint32_t>(bytes)),
      b_.I32(static_cast<uint32_t>(width)),
      llvm::ConstantInt::get(b_.getInt64Ty(),
                             varying ? 0 : address.shape.stride, true),
      b_.I32(static_cast<uint32_t>(room))};
  const bool exact = IsExact(space);
  if (exact) in.push_back(b_.I32(SpanIndex(step)));
  runtime_.Call(exact  ? "holdfast_check_buffers"
                : sure ? "holdfast_bad_address"
                       : "holdfast_check_addresses",
                b_.getVoidTy(), in);
}

}  // namespace holdfast::software::jit
