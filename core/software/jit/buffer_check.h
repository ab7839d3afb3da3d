// SPDX-License-Identifier: Apache-2.0
//
// Emits the test of addresses in memcheck mode (abi/buffer_table.h): each byte
// of an access must lie in a buffer, or in the block's shared memory.
//
// An instruction mostly accesses the buffer that it accessed before. So
// generated code compares the addresses with the span of this buffer
// (WorkerContext::spans). It calls the runtime only for an address outside of
// the span, and the runtime then stores the span of the new buffer. Every
// access has a test of its own, because another offset from the same register
// may lead to another buffer.
//
// Spans and shared memory begin at a multiple of 16, so that an aligned access
// that begins before the span also ends before it. The test is:
//
//   (address & (bytes - 1)) == 0 && address - begin + (bytes - 1) < size
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BUFFER_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BUFFER_CHECK_H_

#include <cstdint>

#include "core/software/jit/checked_access.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_values.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class BufferCheck {
 public:
  explicit BufferCheck(const EmitContext& context)
      : c_(context), b_(context.b), v_(context.b), runtime_(context) {}

  // Returns true if accesses to the space are tested byte by byte. This is so
  // in memcheck mode, with two exceptions. Local memory and parameters have no
  // buffers. For a cluster's shared memory it is not known which bytes the
  // blocks use.
  static bool AppliesTo(ptx::Space space);

  // Returns true if an access to a variable by its name stays inside the
  // variable.
  // REQUIRES: the access is at a variable.
  bool IsWithinVariable(const CheckedAccess& access) const;
  // Emits the test, and returns its result, which is never sure: the runtime
  // then checks only the lanes that run. REQUIRES: AppliesTo() is true for the
  // space.
  AddressTest Test(const CheckedAccess& access) const;
  // Returns the index of the instruction's span in WorkerContext::spans.
  uint32_t SpanIndex(const Step& step) const;

 private:
  // The values of a BufferSpan in emitted code.
  struct Span {
    llvm::Value* begin;
    llvm::Value* size;
  };

  Span SpanOf(const Step& step, ptx::Space space) const;
  llvm::Value* IsOutside(llvm::Value* address, const Span& span,
                         uint64_t bytes) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_BUFFER_CHECK_H_
