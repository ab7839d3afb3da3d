// SPDX-License-Identifier: Apache-2.0
//
// The test of addresses in memcheck mode (abi/buffer_table.h): that each byte
// of an access lies in a buffer, or in the block's shared memory.
//
// An instruction mostly accesses the buffer that it accessed before. So
// generated code compares the addresses with this buffer
// (WorkerContext::spans). It calls the runtime only for an address outside of
// the buffer, and the runtime then stores the span of the new buffer. Every
// access has a test of its own, because another offset from the same register
// may lead to another buffer.
//
// A span and shared memory begin at a multiple of 16, so that an aligned access
// that begins in front of the span also ends in front of it:
//
//   (address & (bytes - 1)) == 0 && address - begin + (bytes - 1) < size
#include <cstddef>

#include "core/software/abi/abi.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/jit/addresses.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Operand;
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

// Local memory and parameters have no buffers. Which bytes of a cluster's
// shared memory the blocks use is not known.
bool Addresses::IsExact(Space space) const {
  return BufferTable::Get() != nullptr && space != Space::kLocal &&
         space != Space::kParam && space != Space::kSharedCluster;
}

// True if an access to a variable by its name stays inside of it.
bool Addresses::IsWithin(const Operand& operand, uint64_t bytes) const {
  const uint64_t size = c_.kernel.VariableOf(operand).bytes;
  return operand.offset >= 0 && bytes <= size &&
         static_cast<uint64_t>(operand.offset) <= size - bytes;
}

// Returns the span in which the instruction's last access was found.
Addresses::Span Addresses::SpanOf(const Step& step, Space space) const {
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
llvm::Value* Addresses::IsOutside(llvm::Value* address, const Span& span,
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

uint32_t Addresses::SpanIndex(const Step& step) const {
  return step.IndexIn(c_.kernel) % kWorkerSpans;
}

// Branches to `bad` if an address may lie outside of the span, and emits there
// from now on. The address may be of a lane that does not run: the runtime
// checks only the lanes that run.
void Addresses::BranchIfOutside(const Step& step, const Value& address,
                                Space space, uint64_t bytes,
                                llvm::BasicBlock* bad,
                                llvm::BasicBlock* good) const {
  const Span span = SpanOf(step, space);
  const bool together = LanesAreOrdered(address.shape, bytes);
  const Value tested =
      together ? address : v_.Reshape(address, LaneShape::Varying());
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
  llvm::Value* any = IsOutside(ends.front(), span, bytes);
  for (llvm::Value* end : llvm::drop_begin(ends)) {
    any = b_.CreateOr(any, IsOutside(end, span, bytes));
  }
  if (any->getType()->isVectorTy()) {
    any = b_.CreateBitCast(any, b_.getIntNTy(c_.lanes()));
    any = b_.CreateICmpNE(any, llvm::Constant::getNullValue(any->getType()));
  }
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(any, bad, good, metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(bad);
}

}  // namespace holdfast::software::jit
