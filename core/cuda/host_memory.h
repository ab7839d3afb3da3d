// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_HOST_MEMORY_H_
#define HOLDFAST_CORE_CUDA_HOST_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

// Page-locked host memory. Devices copy from and to it at full speed and
// asynchronously, and kernels may use it. The memory is either allocated by
// this class, or registered and owned by the caller (a shared mapping). Access
// to the bytes is not synchronised.
//
// Used for bulk data to and from a device: the executor's staging blocks, and
// the arenas that clients share with the executor.
class HostMemory {
 public:
  // Allocates `size` bytes that all contexts can use: cuMemHostAlloc. Allocates
  // one byte if `size` is 0. RESOURCE_EXHAUSTED: there is no memory; the
  // message has the size.
  static absl::StatusOr<std::unique_ptr<HostMemory>> Allocate(
      std::shared_ptr<const Context> context, size_t size);

  // Page-locks [data, data + size): cuMemHostRegister. The memory must stay
  // mapped until this object is destroyed. Fails as cuMemHostRegister does, for
  // instance if a part of the memory is registered already.
  static absl::StatusOr<std::unique_ptr<HostMemory>> Register(
      std::shared_ptr<const Context> context, void* data, size_t size);

  // Frees or unregisters the memory. REQUIRES: no device uses it any more.
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Writable memory of size() bytes. Valid as long as this object.
  char* data() const { return data_; }
  size_t size() const { return size_; }
  // The address for kernels and copies. It equals data() on a GPU (unified
  // addressing), and if the driver reports no address for the device.
  CUdeviceptr device_address() const { return device_address_; }

 private:
  // REQUIRES: the context is current.
  HostMemory(std::shared_ptr<const Context> context, void* data, size_t size,
             bool registered);

  const std::shared_ptr<const Context> context_;
  char* const data_;
  CUdeviceptr device_address_;
  const size_t size_;
  const bool registered_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_HOST_MEMORY_H_
