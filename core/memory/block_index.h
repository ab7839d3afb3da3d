// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_BLOCK_INDEX_H_
#define HOLDFAST_CORE_MEMORY_BLOCK_INDEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace holdfast::memory {

// The bytes [offset, offset + size) of one span.
struct Block {
  // The caller's number of the span. DeviceAllocator uses ids of chunks.
  uint32_t span = 0;
  // Bytes from the start of the span.
  uint64_t offset = 0;
  uint64_t size = 0;

  bool operator==(const Block&) const = default;
};

// Tracks the free bytes of a set of spans. Allocates by best fit, and merges
// free blocks. It does not access memory, so spans can be chunks of device
// memory or ranges of addresses. If all sizes are multiples of a number, all
// offsets are multiples of it, too. Allocate and Free take O(log n). Not
// thread-safe.
//
// The index stores only free blocks. The caller must free a block with the size
// with which it was allocated.
class BlockIndex {
 public:
  // Adds a span of `size` free bytes. Spans are never merged with each other.
  // REQUIRES: `span` is new and `size` is not 0.
  void AddSpan(uint32_t span, uint64_t size);

  // Removes the span. REQUIRES: IsFree(span).
  void RemoveSpan(uint32_t span);

  // Allocates `size` bytes from the smallest free block that is large enough.
  // If there are several such blocks, takes the block with the lowest span and
  // offset. Returns nullopt if no block is large enough. REQUIRES: size is not
  // 0.
  std::optional<Block> Allocate(uint64_t size);

  // Allocates exactly this block. Returns false, and changes nothing, if a byte
  // of it is in use or outside of its span. REQUIRES: block.size is not 0.
  bool AllocateAt(const Block& block);

  // Frees a block, and merges it with free neighbours of the same span.
  // REQUIRES: exactly this block is allocated.
  void Free(const Block& block);

  // Returns true if no byte of the span is in use. Returns false if there is no
  // such span.
  bool IsFree(uint32_t span) const;

  // The free bytes of all spans, in constant time.
  uint64_t free_bytes() const { return free_bytes_; }
  // The size of the largest block that Allocate can return; 0 if nothing is
  // free.
  uint64_t largest_free() const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;  // span, offset

  void Insert(Place place, uint64_t size);
  void Erase(std::map<Place, uint64_t>::iterator it);
  void Cut(std::map<Place, uint64_t>::iterator it, uint64_t skip,
           uint64_t size);

  std::map<uint32_t, uint64_t> spans_;            // span -> size
  std::map<Place, uint64_t> free_;                // place -> size
  std::set<std::pair<uint64_t, Place>> by_size_;  // the same, by size
  uint64_t free_bytes_ = 0;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_BLOCK_INDEX_H_
