// SPDX-License-Identifier: Apache-2.0
//
// Emits prefetches for contiguous loads and stores. A CPU executes only a few
// warps, or iterations of a loop, at a time, and so has only few of their
// accesses in flight. Its hardware prefetcher stops at the end of a page. A
// prefetch never faults, and a useless prefetch has no effect on results.
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
  // the value of its operand `place`. `write` is true for a store. Emits
  // nothing unless all lanes run and their addresses are contiguous and in
  // global or generic space.
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
