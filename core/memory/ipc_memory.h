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

// An allocation of another process, opened by its IPC handle: memory of
// cuMemAlloc, which is most of what PyTorch and CuPy have, and which no
// descriptor can be made of. It ends with its maker, whatever this object does;
// kernels that use it then fault. Immutable; thread-safe.
class IpcMemory {
 public:
  // `handle` may be anything; what the driver does not take is its error. May
  // be of another device that the context's can reach. UNIMPLEMENTED: the
  // driver lacks functions that IPC needs. The device's context may get access
  // to the other device on the way.
  static absl::StatusOr<std::unique_ptr<IpcMemory>> Open(
      std::shared_ptr<const cuda::Context> context,
      const CUipcMemHandle& handle);
  // REQUIRES: no device uses it any more.
  ~IpcMemory();
  IpcMemory(const IpcMemory&) = delete;
  IpcMemory& operator=(const IpcMemory&) = delete;

  // The whole allocation, in bytes.
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
