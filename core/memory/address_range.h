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

// A reserved range of device addresses (cuMemAddressReserve), in which the
// chunks of a session (chunk.h) are mapped. The caller can request the base, so
// that the process that succeeds a dead executor can map the same chunks at the
// same addresses. The reservation uses no memory. Thread-safe.
//
// Each DeviceAllocator owns a range for the chunks of its device. An
// ImportedChunk owns a part of that range. Chunks return their addresses to
// their range, so the range must outlive them. All sizes and addresses that are
// passed to a range are multiples of the device's granularity
// (Chunk::Granularity).
class AddressRange {
 public:
  // Reserves addresses at `hint`, or anywhere if `hint` is 0. The driver may
  // choose another base than `hint`. Never returns null. Fails as
  // cuMemAddressReserve does.
  static absl::StatusOr<std::unique_ptr<AddressRange>> Reserve(
      std::shared_ptr<const cuda::Context> context, uint64_t size,
      CUdeviceptr hint);
  // Takes a part of the range `whole`, at `address`, or anywhere if `address`
  // is 0. The result keeps `whole` alive, and its destructor returns the
  // addresses to it. Fails as Take or TakeAt does.
  static absl::StatusOr<std::unique_ptr<AddressRange>> In(
      std::shared_ptr<AddressRange> whole, uint64_t size, CUdeviceptr address);
  // Frees the addresses. REQUIRES: nothing is mapped in the range.
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  // The first reserved address, and the number of reserved bytes. Neither
  // changes.
  CUdeviceptr base() const { return base_; }
  uint64_t size() const { return size_; }

  // Takes `size` bytes from the smallest gap that is large enough. Returns
  // their first address. RESOURCE_EXHAUSTED: there is no such gap; the message
  // has the size of the largest gap.
  absl::StatusOr<CUdeviceptr> Take(uint64_t size);
  // Takes exactly [address, address + size), which a predecessor process used.
  // ALREADY_EXISTS: a part of it is taken, or is outside of the range.
  absl::Status TakeAt(CUdeviceptr address, uint64_t size);
  // Makes [address, address + size) free again. REQUIRES: one call took exactly
  // these addresses, and nothing is mapped there.
  void GiveBack(CUdeviceptr address, uint64_t size);

 private:
  AddressRange(std::shared_ptr<const cuda::Context> context,
               std::shared_ptr<AddressRange> whole, CUdeviceptr base,
               uint64_t size);

  const std::shared_ptr<const cuda::Context> context_;
  // The range of which this is a part; null: this object reserved the
  // addresses.
  const std::shared_ptr<AddressRange> whole_;
  const CUdeviceptr base_;
  const uint64_t size_;
  absl::Mutex mutex_;
  // Free offsets from base_; the range is span 0 of the index.
  BlockIndex free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
