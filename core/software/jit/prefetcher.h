// SPDX-License-Identifier: Apache-2.0
//
// Emits prefetches for contiguous loads and stores. A CPU holds the
// instructions of only a few warps, or rounds of a loop, at a time, so it has
// few of their accesses in flight, and its hardware prefetcher stops at the end
// of a page. A prefetch never faults, and a useless one has no effect on
// results.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PREFETCHER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PREFETCHER_H_

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/block_notes.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_values.h"

namespace holdfast::software::jit {

class Prefetcher {
 public:
  Prefetcher(const EmitContext& context, BlockNotes& notes)
      : c_(context), b_(context.b), v_(context.b), notes_(notes) {}

  // Emits the prefetches of an instruction that is about to access `address`,
  // the value of its operand `place`. Emits none for diverged lanes, and none
  // unless the lanes' addresses are contiguous and in global or generic space.
  void Prefetch(const Step& step, const ptx::Operand& place,
                const Value& address, bool write) const;

 private:
  void FetchAt(const Value& address, uint64_t bytes, llvm::Value* distance,
               uint32_t level, bool write) const;
  bool IsFetched(const Step& step, const ptx::Operand& place,
                 uint64_t bytes) const;
  llvm::Value* Distance(const Step& step, llvm::Value* place,
                        uint64_t bytes) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PREFETCHER_H_
