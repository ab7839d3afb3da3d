// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/address_check.h"

#include <cstddef>

#include "core/software/abi/abi.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using ptx::Space;

void AddressCheck::Emit(const Step& step, const ptx::Operand& operand,
                        Space space, const Value& address) const {
  // Parameters may lie anywhere.
  const uint64_t bytes =
      space == Space::kParam
          ? 1
          : static_cast<uint64_t>(lower::AccessBytes(step.instruction));
  const CheckedAccess access{step, operand, space, address, bytes};
  if (IsKnownGood(access)) return;
  auto* bad = b_.NewBlock("bad_address");
  auto* good = b_.NewBlock("good_address");
  const AddressTest test = BufferCheck::AppliesTo(space) ? buffers_.Test(access)
                                                         : window_.Test(access);
  Branch(test.outside, bad, good);
  b_.SetInsertPoint(bad);
  Report(access, test.sure);
  if (test.sure) {
    b_.CreateUnreachable();
  } else {
    b_.CreateBr(good);
  }
  b_.SetInsertPoint(good);
  NoteGood(access);
}

bool AddressCheck::IsKnownGood(const CheckedAccess& access) const {
  const bool exact = BufferCheck::AppliesTo(access.space);
  if (access.at_variable()) {
    return window_.IsGoodVariable(access) &&
           (!exact || buffers_.IsWithinVariable(access));
  }
  if (!access.at_register() || exact) return false;
  const TestedAddress* known =
      notes_.FindAddress(access.operand.index, access.space);
  return known != nullptr && window_.IsCovered(access, *known);
}

// Addresses made the note of the register. There is no note, or only a note for
// another space, if the instruction has one register for two addresses; the
// note does not have the tested address then.
void AddressCheck::NoteGood(const CheckedAccess& access) const {
  if (!access.at_register() || access.step.guarded()) return;
  TestedAddress* tested =
      notes_.FindAddress(access.operand.index, access.space);
  if (tested == nullptr) return;
  tested->good = true;
  tested->bytes = access.bytes;
  tested->offset = access.operand.offset;
}

void AddressCheck::Branch(llvm::Value* outside, llvm::BasicBlock* bad,
                          llvm::BasicBlock* good) const {
  if (outside->getType()->isVectorTy()) {
    outside = b_.CreateBitCast(outside, b_.getIntNTy(c_.lanes()));
    outside = b_.CreateICmpNE(outside,
                              llvm::Constant::getNullValue(outside->getType()));
  }
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(outside, bad, good, metadata.createBranchWeights(1, 1000000));
}

// The running lanes are about to go to their addresses, some of which are bad:
// surely, or perhaps. The runtime looks at each, and comes back if none is.
void AddressCheck::Report(const CheckedAccess& access, bool sure) const {
  const Value& address = access.address;
  const bool varying = address.shape.varying;
  StoreAddresses(address);
  llvm::Value* lanes = access.step.lanes.MaskOrAll(b_);
  if (access.step.lanes.alone()) lanes = access.step.lanes.LaneBit(b_);
  runtime_.NoteInstruction(access.step);
  const size_t width =
      varying ? 1 : analysis::kWarpLanes / address.parts.size();
  const auto room = access.space == Space::kShared ? AddressRoom::kShared
                                                   : AddressRoom::kWindow;
  llvm::SmallVector<llvm::Value*, 6> in = {
      lanes, b_.I32(static_cast<uint32_t>(access.bytes)),
      b_.I32(static_cast<uint32_t>(width)),
      llvm::ConstantInt::get(b_.getInt64Ty(),
                             varying ? 0 : address.shape.stride, true),
      b_.I32(static_cast<uint32_t>(room))};
  const bool exact = BufferCheck::AppliesTo(access.space);
  if (exact) in.push_back(b_.I32(buffers_.SpanIndex(access.step)));
  runtime_.Call(exact  ? "holdfast_check_buffers"
                : sure ? "holdfast_bad_address"
                       : "holdfast_check_addresses",
                b_.getVoidTy(), in);
}

void AddressCheck::StoreAddresses(const Value& address) const {
  const int lanes = address.shape.varying ? c_.lanes() : 1;  // of a part
  for (size_t i = 0; i < address.parts.size(); ++i) {
    const size_t place =
        offsetof(WorkerContext, addresses) + sizeof(uint64_t) * i * lanes;
    b_.CreateAlignedStore(address.parts[i], runtime_.WorkerField(place),
                          llvm::Align(sizeof(uint64_t)));
  }
}

}  // namespace holdfast::software::jit
