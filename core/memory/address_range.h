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
// session's chunks are mapped. Its base is asked for at a fixed place, so that
// a successor process can map the same chunks at the same addresses. Reserving
// costs no memory. Thread-safe.
//
// A device has one, owned by its DeviceAllocator; an ImportedChunk owns a part
// of it, for the addresses of one chunk. Chunks hold a reference to their range
// and give their addresses back when they end, so that it must outlive them.
// Sizes and addresses handed to it are multiples of the granularity of the
// device (Chunk::Granularity).
class AddressRange {
 public:
  // `hint` may be 0: anywhere. A driver may answer with another base. Fails as
  // cuMemAddressReserve does; the result is never empty.
  static absl::StatusOr<std::unique_ptr<AddressRange>> Reserve(
      std::shared_ptr<const cuda::Context> context, uint64_t size,
      CUdeviceptr hint);
  // A part of another range, which it keeps and gives its addresses back to: at
  // `address`, or anywhere if that is 0. As Take or TakeAt.
  static absl::StatusOr<std::unique_ptr<AddressRange>> In(
      std::shared_ptr<AddressRange> whole, uint64_t size, CUdeviceptr address);
  // Nothing may be mapped in it any more.
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  // The first reserved address, and the number of reserved bytes. Neither
  // changes.
  CUdeviceptr base() const { return base_; }
  uint64_t size() const { return size_; }

  // RESOURCE_EXHAUSTED: no room for `size` bytes. Takes the smallest gap that
  // is large enough. The message names the largest gap there is.
  absl::StatusOr<CUdeviceptr> Take(uint64_t size);
  // ALREADY_EXISTS: some of it is taken, or outside. Takes exactly these
  // addresses, which a predecessor process used.
  absl::Status TakeAt(CUdeviceptr address, uint64_t size);
  // REQUIRES: [address, address + size) was taken, whole, and nothing is mapped
  // there any more.
  void GiveBack(CUdeviceptr address, uint64_t size);

 private:
  AddressRange(std::shared_ptr<const cuda::Context> context,
               std::shared_ptr<AddressRange> whole, CUdeviceptr base,
               uint64_t size);

  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<AddressRange> whole_;  // null: it is reserved itself
  const CUdeviceptr base_;
  const uint64_t size_;
  absl::Mutex mutex_;
  // Offsets from base_ that are free; the range is span 0 of the index.
  BlockIndex free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
