// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_IPC_ALLOCATION_H_
#define HOLDFAST_CORE_MEMORY_IPC_ALLOCATION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::memory {

// Memory of cuMemAlloc that other processes can open by a CUipcMemHandle. This
// is CUDA's older IPC, for libraries that support no other. Immutable;
// thread-safe.
//
// The memory is freed when this process ends, also if a fault ends it. A
// successor process must make another allocation, which has another handle.
class IpcAllocation {
 public:
  // Allocates memory, aligned to at least 256 bytes. The bytes are undefined.
  // INVALID_ARGUMENT: `size` is 0. UNIMPLEMENTED: the driver lacks functions
  // that IPC needs. Also fails as cuMemAlloc does.
  static absl::StatusOr<std::unique_ptr<IpcAllocation>> Create(
      std::shared_ptr<const cuda::Context> context, uint64_t size);
  // Frees the memory: cuMemFree, which may wait for all work of the device.
  ~IpcAllocation();
  IpcAllocation(const IpcAllocation&) = delete;
  IpcAllocation& operator=(const IpcAllocation&) = delete;

  CUdeviceptr address() const { return address_; }
  uint64_t size() const { return size_; }

  // A handle of the memory. A process that opens it may map more memory than
  // this allocation, which begins at `offset` in the mapping.
  struct Exported {
    // Valid on this machine only.
    CUipcMemHandle handle;
    // Bytes from the start of the mapped memory to this allocation.
    uint64_t offset = 0;
    // Bytes that the handle maps.
    uint64_t mapped_size = 0;
  };
  // Returns the handle: cuIpcGetMemHandle. Fails as the driver does.
  absl::StatusOr<Exported> Export() const;

 private:
  IpcAllocation(std::shared_ptr<const cuda::Context> context,
                CUdeviceptr address, uint64_t size)
      : context_(std::move(context)), address_(address), size_(size) {}

  const std::shared_ptr<const cuda::Context> context_;
  const CUdeviceptr address_;
  const uint64_t size_;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_IPC_ALLOCATION_H_
