// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_PINNED_MEMORY_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_PINNED_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/host_memory.h"
#include "server/account/quota.h"

namespace holdfast::executor {

// Page-locked host memory that is charged to a quota as long as it exists.
class PinnedMemory {
 public:
  // Charges `size` bytes to `quota`, then allocates them. RESOURCE_EXHAUSTED:
  // the quota refuses the charge, or the system has no memory.
  static absl::StatusOr<std::unique_ptr<PinnedMemory>> Allocate(
      std::shared_ptr<const cuda::Context> context, size_t size, Quota& quota);
  // Like Allocate, but page-locks the existing memory [data, data + size).
  // REQUIRES: the memory stays mapped while the object lives.
  static absl::StatusOr<std::unique_ptr<PinnedMemory>> Register(
      std::shared_ptr<const cuda::Context> context, char* data, size_t size,
      Quota& quota);

  char* data() const { return memory_->data(); }
  CUdeviceptr device_address() const { return memory_->device_address(); }

  // Announces to the quota that this memory will be freed as soon as a device
  // has finished with it.
  void BeginReturn() { charge_.BeginReturn(); }

 private:
  PinnedMemory(Charge charge, std::unique_ptr<cuda::HostMemory> memory)
      : charge_(std::move(charge)), memory_(std::move(memory)) {}

  Charge charge_;  // ends after the memory
  const std::unique_ptr<cuda::HostMemory> memory_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_PINNED_MEMORY_H_
