// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_PLACES_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_PLACES_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/free_ranges.h"

namespace holdfast::executor {

class PlacedMapping;

// Maps arenas at addresses of one range (core/base/arena_range.h), if possible
// at the addresses at which the client has mapped them. The range is reserved
// when the process starts, so that nothing but arenas is ever mapped there, and
// a client's address cannot hit other memory. Thread-safe.
class ArenaPlaces : public std::enable_shared_from_this<ArenaPlaces> {
 public:
  // Makes the places. `reserved`: the driver has reserved the range for this
  // process already. Returns null if the addresses are not free in this
  // process.
  static std::shared_ptr<ArenaPlaces> Make(bool reserved);
  ArenaPlaces(const ArenaPlaces&) = delete;
  ArenaPlaces& operator=(const ArenaPlaces&) = delete;

  // Maps the first `size` bytes (whole pages) of the memfd `fd`, which is
  // borrowed, for reading and writing. Maps them at the address `wish` if that
  // is a page of the range and all pages there are free, else elsewhere in the
  // range. `wish` is untrusted. RESOURCE_EXHAUSTED: the range has no room.
  absl::StatusOr<PlacedMapping> Map(int fd, uint64_t size, uint64_t wish);

 private:
  friend class PlacedMapping;

  ArenaPlaces();
  absl::StatusOr<uint64_t> Take(uint64_t size, uint64_t wish);
  // Makes the addresses free. REQUIRES: nothing is mapped there.
  void Release(uint64_t address, uint64_t size);

  absl::Mutex mutex_;
  FreeRanges free_ ABSL_GUARDED_BY(mutex_);
};

// Owns one mapping, and keeps its ArenaPlaces. Move-only; empty after a move.
class PlacedMapping {
 public:
  PlacedMapping() = default;
  PlacedMapping(PlacedMapping&& other) noexcept
      : places_(std::move(other.places_)),
        address_(std::exchange(other.address_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  PlacedMapping& operator=(PlacedMapping&& other) noexcept {
    std::swap(places_, other.places_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PlacedMapping();

  // The mapped memory; null if this object is empty.
  void* data() const { return reinterpret_cast<void*>(address_); }

 private:
  friend class ArenaPlaces;
  PlacedMapping(std::shared_ptr<ArenaPlaces> places, uint64_t address,
                uint64_t size)
      : places_(std::move(places)), address_(address), size_(size) {}

  std::shared_ptr<ArenaPlaces> places_;
  uint64_t address_ = 0;
  uint64_t size_ = 0;  // bytes
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_PLACES_H_
