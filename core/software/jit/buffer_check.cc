// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/buffer_check.h"

#include <cstddef>

#include "core/software/abi/abi.h"
#include "core/software/abi/buffer_table.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Space;

namespace {

// The lanes of a unit cannot wrap around all addresses, so that all lie between
// the first one and the last one.
bool LanesAreOrdered(const LaneShape& shape, uint64_t bytes) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return !shape.varying && static_cast<uint64_t>(shape.stride) % bytes == 0 &&
         -kMost <= shape.stride && shape.stride <= kMost;
}

}  // namespace

bool BufferCheck::AppliesTo(Space space) {
  return BufferTable::Get() != nullptr && space != Space::kLocal &&
         space != Space::kParam && space != Space::kSharedCluster;
}

bool BufferCheck::IsWithinVariable(const CheckedAccess& access) const {
  const uint64_t size = c_.kernel.VariableOf(access.operand).bytes;
  const int64_t offset = access.operand.offset;
  return offset >= 0 && access.bytes <= size &&
         static_cast<uint64_t>(offset) <= size - access.bytes;
}

// Returns the span in which the instruction's last access was found.
BufferCheck::Span BufferCheck::SpanOf(const Step& step, Space space) const {
  llvm::Type* type = b_.getInt64Ty();
  if (space == Space::kShared) {
    return {c_.shared,
            runtime_.LoadField(c_.launch, offsetof(LaunchContext, shared_bytes),
                               type, true)};
  }
  llvm::Value* spans = runtime_.LoadField(
      c_.worker, offsetof(WorkerContext, spans), b_.getPtrTy(), true);
  const size_t place = sizeof(BufferSpan) * SpanIndex(step);
  return {runtime_.LoadField(spans, place + offsetof(BufferSpan, begin), type,
                             false),
          runtime_.LoadField(spans, place + offsetof(BufferSpan, size), type,
                             false)};
}

// Returns true if an access at `address` is not aligned, or has a byte outside
// of the span. `address` is a number or a vector of numbers, and so is the
// result.
llvm::Value* BufferCheck::IsOutside(llvm::Value* address, const Span& span,
                                    uint64_t bytes) const {
  const bool vector = address->getType()->isVectorTy();
  llvm::Value* begin = vector ? b_.Splat(span.begin) : span.begin;
  llvm::Value* size = vector ? b_.Splat(span.size) : span.size;
  llvm::Value* rest = b_.ConstantLike(address, bytes - 1);
  llvm::Value* last = b_.CreateAdd(b_.CreateSub(address, begin), rest);
  llvm::Value* uneven =
      b_.CreateICmpNE(b_.CreateAnd(address, rest),
                      llvm::Constant::getNullValue(address->getType()));
  return b_.CreateOr(b_.CreateICmpUGE(last, size), uneven);
}

uint32_t BufferCheck::SpanIndex(const Step& step) const {
  return step.IndexIn(c_.kernel) % kWorkerSpans;
}

AddressTest BufferCheck::Test(const CheckedAccess& access) const {
  const Span span = SpanOf(access.step, access.space);
  const bool together = LanesAreOrdered(access.address.shape, access.bytes);
  const Value tested = together
                           ? access.address
                           : v_.Reshape(access.address, LaneShape::Varying());
  const auto parts = static_cast<int64_t>(tested.parts.size());
  // From the first lane of a part to its last one.
  const int64_t reach =
      together ? tested.shape.stride * (analysis::kWarpLanes / parts - 1) : 0;
  llvm::SmallVector<llvm::Value*, 8> ends(tested.parts.begin(),
                                          tested.parts.end());
  for (llvm::Value* first : tested.parts) {
    if (reach == 0) break;
    ends.push_back(b_.CreateAdd(
        first, b_.ConstantLike(first, static_cast<uint64_t>(reach))));
  }
  llvm::Value* any = IsOutside(ends.front(), span, access.bytes);
  for (llvm::Value* end : llvm::drop_begin(ends)) {
    any = b_.CreateOr(any, IsOutside(end, span, access.bytes));
  }
  return {any, false};
}

}  // namespace holdfast::software::jit
