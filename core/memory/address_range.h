// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
#define HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/context.h"
#include "core/memory/block_index.h"
#include "cuda.h"

namespace holdfast::memory {

// A reserved range of device addresses (cuMemAddressReserve) in which a
// session's chunks are mapped. Its base is requested explicitly, so that a
// successor process can map the same chunks at the same addresses. Reserving
// costs no memory. Thread-safe.
//
// Each device has one, owned by its DeviceAllocator. An ImportedChunk owns a
// part of it for one chunk. Chunks refer to their range and return their
// addresses to it, so it must outlive them. Sizes and addresses passed to it
// are multiples of the device's granularity (Chunk::Granularity).
class AddressRange {
 public:
  // Reserves addresses at `hint`, or anywhere if that is 0; the driver may
  // choose another base. Never returns null. Fails as cuMemAddressReserve does.
  static absl::StatusOr<std::unique_ptr<AddressRange>> Reserve(
      std::shared_ptr<const cuda::Context> context, uint64_t size,
      CUdeviceptr hint);
  // Takes a part of another range, at `address`, or anywhere if that is 0.
  // Keeps `whole`, and returns the addresses to it. Fails as Take or TakeAt.
  static absl::StatusOr<std::unique_ptr<AddressRange>> In(
      std::shared_ptr<AddressRange> whole, uint64_t size, CUdeviceptr address);
  // REQUIRES: nothing is mapped in the range.
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  // The first reserved address, and the number of reserved bytes. Neither
  // changes.
  CUdeviceptr base() const { return base_; }
  uint64_t size() const { return size_; }

  // Takes `size` bytes from the smallest gap that is large enough.
  // RESOURCE_EXHAUSTED: there is none; the message names the largest gap.
  absl::StatusOr<CUdeviceptr> Take(uint64_t size);
  // Takes exactly these addresses, which a predecessor process used.
  // ALREADY_EXISTS: some of them are taken, or outside of the range.
  absl::Status TakeAt(CUdeviceptr address, uint64_t size);
  // Returns addresses. REQUIRES: they were taken in one call, and nothing is
  // mapped there.
  void GiveBack(CUdeviceptr address, uint64_t size);

 private:
  AddressRange(std::shared_ptr<const cuda::Context> context,
               std::shared_ptr<AddressRange> whole, CUdeviceptr base,
               uint64_t size);

  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<AddressRange> whole_;  // null: reserved by this
  const CUdeviceptr base_;
  const uint64_t size_;
  absl::Mutex mutex_;
  // Free offsets from base_; the range is span 0 of the index.
  BlockIndex free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
