// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_CONTEXT_H_
#define HOLDFAST_CORE_CUDA_CONTEXT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/device.h"
#include "core/cuda/driver_api.h"
#include "cuda.h"

namespace holdfast::cuda {

// A device's primary context, retained (cuDevicePrimaryCtxRetain) as long as
// this object lives. Every stream, event, module and memory object holds a
// shared_ptr to its context, so that these objects can be destroyed in any
// order.
//
// Thread-safe. Functions that need a current context make it current with
// ScopedContext; none relies on the caller's current context.
class Context {
 public:
  // Retains the primary context of the device. May take long, because the
  // driver initialises the device. Fails as the driver does.
  static absl::StatusOr<std::shared_ptr<const Context>> RetainPrimary(
      const Device& device);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The driver that the context was made with; it outlives the context.
  const DriverApi& api() const { return device_.api(); }
  const Device& device() const { return device_; }
  CUcontext handle() const { return handle_; }
  // The device's limits for launches, read once by RetainPrimary.
  const DeviceLimits& limits() const { return limits_; }

  // The range of priorities of streams. Lower numbers are more urgent, so least
  // >= greatest.
  int least_stream_priority() const { return least_priority_; }
  int greatest_stream_priority() const { return greatest_priority_; }

  // The memory of the device, in bytes, over all processes: cuMemGetInfo. Other
  // processes may change the free bytes at any time.
  struct MemoryInfo {
    uint64_t free = 0;
    uint64_t total = 0;
  };
  absl::StatusOr<MemoryInfo> GetMemoryInfo() const;

  // Enable or disable the use by this context's kernels of memory that is
  // allocated in `peer`, including modules' variables: cuCtxEnablePeerAccess,
  // cuCtxDisablePeerAccess. Mapped memory has its own access rights. The other
  // direction does not change. OK if nothing changes. UNIMPLEMENTED: the driver
  // lacks the function.
  absl::Status EnablePeerAccess(const Context& peer) const;
  absl::Status DisablePeerAccess(const Context& peer) const;

  // Blocks until all work of the context is done: cuCtxSynchronize. Returns the
  // error of the work, if it has failed.
  absl::Status Synchronize() const;

 private:
  Context(const Device& device, const DeviceLimits& limits, CUcontext handle)
      : device_(device), limits_(limits), handle_(handle) {}
  absl::Status ReadStreamPriorities();

  const Device device_;
  const DeviceLimits limits_;
  const CUcontext handle_;
  int least_priority_ = 0;
  int greatest_priority_ = 0;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTEXT_H_
