// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
#define HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/memory/block_index.h"
#include "cuda.h"

namespace holdfast::memory {

// A reserved range of device addresses (cuMemAddressReserve) in which a
// session's chunks are mapped. Its base is asked for at a fixed place, so that
// a successor process can map the same chunks at the same addresses. Reserving
// costs no memory. Not thread-safe.
class AddressRange {
 public:
  // `hint` may be 0: anywhere. A driver may answer with another base.
  static absl::StatusOr<std::unique_ptr<AddressRange>> Reserve(
      std::shared_ptr<const cuda::Context> context, uint64_t size,
      CUdeviceptr hint);
  // Nothing may be mapped in it any more.
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  CUdeviceptr base() const { return base_; }
  uint64_t size() const { return size_; }

  // RESOURCE_EXHAUSTED: no room for `size` bytes.
  absl::StatusOr<CUdeviceptr> Take(uint64_t size);
  // ALREADY_EXISTS: some of it is taken, or outside.
  absl::Status TakeAt(CUdeviceptr address, uint64_t size);
  void GiveBack(CUdeviceptr address, uint64_t size);

 private:
  AddressRange(std::shared_ptr<const cuda::Context> context, CUdeviceptr base,
               uint64_t size);

  const std::shared_ptr<const cuda::Context> context_;
  const CUdeviceptr base_;
  const uint64_t size_;
  BlockIndex free_;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_ADDRESS_RANGE_H_
