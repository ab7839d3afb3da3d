// SPDX-License-Identifier: Apache-2.0
//
// Keeps track of the free parts of a range of numbers: addresses, or offsets in
// a file or an arena. Never touches the memory.
//
//   FreeRanges free;
//   free.Add(base, size);
//   std::optional<uint64_t> place = free.Take(4096, /*alignment=*/4096);
//   if (place) free.Add(*place, 4096);
//
// First fit: allocations stay low, and a search takes time in proportion to the
// number of free ranges. For many ranges use memory::BlockIndex: best fit, over
// several spans, in logarithmic time.
#ifndef HOLDFAST_CORE_BASE_FREE_RANGES_H_
#define HOLDFAST_CORE_BASE_FREE_RANGES_H_

#include <cstdint>
#include <map>
#include <optional>

namespace holdfast {

// Not thread-safe.
class FreeRanges {
 public:
  // Makes [start, start + size) free, and merges it with its neighbours.
  // REQUIRES: no part of it is free, and it does not wrap.
  void Add(uint64_t start, uint64_t size);

  // Takes the lowest free range of `size` at a multiple of `alignment`. Returns
  // its start, or nullopt if there is none, or if `size` is 0. REQUIRES:
  // alignment is a power of two.
  std::optional<uint64_t> Take(uint64_t size, uint64_t alignment = 1);

  // Does the same as Take, but takes the highest such range.
  std::optional<uint64_t> TakeHighest(uint64_t size, uint64_t alignment = 1);

  // Takes exactly [start, start + size). Returns false, and takes nothing, if
  // not all of it is free, or if `size` is 0.
  bool TakeAt(uint64_t start, uint64_t size);

  // Returns the size of the largest free range; 0 if there is none.
  uint64_t largest() const;
  bool empty() const { return free_.empty(); }

 private:
  // Takes [start, start + size) out of the range at `it`, which contains it.
  void Cut(std::map<uint64_t, uint64_t>::iterator it, uint64_t start,
           uint64_t size);

  // The size of each free range, by its start. Neighbours are always merged.
  std::map<uint64_t, uint64_t> free_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_FREE_RANGES_H_
