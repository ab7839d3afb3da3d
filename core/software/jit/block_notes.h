// SPDX-License-Identifier: Apache-2.0
//
// Facts about the values of registers that emitters keep while they emit one
// block, so as not to compute them again. They hold within the block only,
// since control comes to the next one from elsewhere, too.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_

#include <cstdint>
#include <map>

#include "core/software/jit/value.h"
#include "core/software/ptx/types.h"

namespace holdfast::software::jit {

// The address that code has made of a register's value. If `good`, it has found
// it to lie where it may and to be a multiple of `bytes` with `offset` added.
// The parts are frozen, and stand for the register in later instructions, so
// that the tested value is the accessed one.
struct TestedAddress {
  Value start;  // without an offset
  ptx::Space space = ptx::Space::kGeneric;
  bool good = false;
  uint64_t bytes = 1;
  int64_t offset = 0;
};

// How far ahead a loop's accesses of `bytes` a lane are prefetched; and by
// register, at which offset something was fetched for it.
struct PrefetchAhead {
  llvm::Value* distance = nullptr;
  uint64_t bytes = 0;
  std::map<uint32_t, int64_t> offsets;
};

struct BlockNotes {
  std::map<uint32_t, Value> predicates;  // written here, as vectors
  std::map<uint32_t, TestedAddress> tested;
  PrefetchAhead prefetch;

  // Returns the address in `space` that was made of the register; null: none.
  TestedAddress* FindAddress(uint32_t index, ptx::Space space) {
    const auto found = tested.find(index);
    const bool known = found != tested.end() && found->second.space == space;
    return known ? &found->second : nullptr;
  }
  // A register is written: its addresses are no longer known.
  void ForgetAddress(uint32_t index) {
    tested.erase(index);
    prefetch.offsets.erase(index);
  }
  // Code begins to which control comes from several places.
  void Clear() { *this = {}; }
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_BLOCK_NOTES_H_
