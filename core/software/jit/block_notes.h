// SPDX-License-Identifier: Apache-2.0
//
// Facts about the values of registers, which emitters store while they emit one
// basic block, so that they do not compute the values again. The facts are true
// only within the block, because control may reach the next block from
// elsewhere.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_

#include <cstdint>
#include <map>

#include "core/software/jit/value.h"
#include "core/software/ptx/types.h"

namespace holdfast::software::jit {

// The address that emitted code has computed from a register. If `good` is
// true, the code has checked that the address plus `offset` may be accessed and
// is a multiple of `bytes`. The parts of `start` are frozen. Later instructions
// use them in place of the register, so that the checked value is the accessed
// value.
struct TestedAddress {
  Value start;  // the address without an offset
  ptx::Space space = ptx::Space::kGeneric;
  bool good = false;
  uint64_t bytes = 1;
  int64_t offset = 0;
};

// The prefetches that were emitted in the block (prefetcher.h).
struct PrefetchAhead {
  // The distance in bytes from an access to its prefetch, for accesses of
  // `bytes` bytes in each lane; null: not computed yet.
  llvm::Value* distance = nullptr;
  uint64_t bytes = 0;
  // The last prefetched offset from each register.
  std::map<uint32_t, int64_t> offsets;
};

// The facts of one block. The maps have the index of a register as the key.
struct BlockNotes {
  std::map<uint32_t, Value> predicates;  // written in this block, as vectors
  std::map<uint32_t, TestedAddress> tested;
  PrefetchAhead prefetch;

  // Returns the address in `space` that was computed from the register; null if
  // there is none.
  TestedAddress* FindAddress(uint32_t index, ptx::Space space) {
    const auto found = tested.find(index);
    const bool known = found != tested.end() && found->second.space == space;
    return known ? &found->second : nullptr;
  }
  // Drops the addresses that were computed from the register. Called when the
  // register is written.
  void ForgetAddress(uint32_t index) {
    tested.erase(index);
    prefetch.offsets.erase(index);
  }
  // Drops all facts. Called before code that control reaches from several
  // places.
  void Clear() { *this = {}; }
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_
