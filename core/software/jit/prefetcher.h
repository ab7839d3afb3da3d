// SPDX-License-Identifier: Apache-2.0
//
// Emits prefetches for contiguous loads and stores. A CPU holds the
// instructions of only a few warps, or rounds of a loop, at a time, so few of
// their accesses are under way; and what it fetches ahead by itself ends with
// the page. Fetching never faults, and what is fetched in vain is forgotten.
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

  // The instruction is about to access `address`, to which `place` has come.
  // Lanes that have diverged, or whose places lie apart, fetch nothing.
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
