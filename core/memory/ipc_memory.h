// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_MEMORY_IPC_MEMORY_H_
#define HOLDFAST_CORE_MEMORY_IPC_MEMORY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::memory {

// An allocation of another process, opened by its IPC handle. The memory is
// that of cuMemAlloc, which PyTorch and CuPy use for most of their arrays, and
// which cannot be exported as a descriptor. It is freed when the other process
// ends, even if this object still exists; kernels that use it then fault.
// Immutable; thread-safe.
class IpcMemory {
 public:
  // Opens the memory. `handle` comes from a client and is untrusted: fails as
  // the driver does if it is no handle. The memory may be of another device
  // that is a peer of the context's device; the driver then enables access to
  // that device. UNIMPLEMENTED: the driver lacks functions that IPC needs.
  static absl::StatusOr<std::unique_ptr<IpcMemory>> Open(
      std::shared_ptr<const cuda::Context> context,
      const CUipcMemHandle& handle);
  // Closes the memory. REQUIRES: no device uses it any more.
  ~IpcMemory();
  IpcMemory(const IpcMemory&) = delete;
  IpcMemory& operator=(const IpcMemory&) = delete;

  // The first address and the bytes of the memory that the handle maps.
  CUdeviceptr address() const { return address_; }
  uint64_t size() const { return size_; }

 private:
  IpcMemory(std::shared_ptr<const cuda::Context> context, CUdeviceptr address)
      : context_(std::move(context)), address_(address) {}

  const std::shared_ptr<const cuda::Context> context_;
  const CUdeviceptr address_;
  uint64_t size_ = 0;
};

}  // namespace holdfast::memory

#endif  // HOLDFAST_CORE_MEMORY_IPC_MEMORY_H_
