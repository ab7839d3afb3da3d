// SPDX-License-Identifier: Apache-2.0
//
// The devices that a session uses in this process: a context, an allocator and
// a few streams of each. A device is opened on first use and stays open until
// the executor ends.
//
// Memory is placed in two ways. Usually an allocator chooses the place. While a
// session is restored (BeginRestore to EndRestore), memory gets the place that
// it had in the earlier process: the chunk with this place is mapped from its
// descriptor, or made anew from the bytes of a suspended session.
//
// Everything belongs to the submission thread, and there is no lock. Each
// thread that carries out commands, which may be another in the submission
// thread's turn (SubmissionThread::RunBatch), calls MakeCurrent first.
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_SESSION_DEVICES_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_SESSION_DEVICES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "core/cuda/stream.h"
#include "core/memory/device_allocator.h"
#include "cuda.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/admin.pb.h"
#include "server/account/account.h"
#include "server/account/quota.h"
#include "server/executor/memory/inheritance.h"
#include "server/executor/memory/memory_image.h"
#include "server/executor/resources/device_placement.h"

namespace holdfast::executor {

// One open device.
struct DeviceState {
  std::shared_ptr<const cuda::Context> context;
  std::unique_ptr<memory::DeviceAllocator> allocator;
  // The reaper: a stream that waits for all work after which something can be
  // freed.
  std::unique_ptr<cuda::Stream> reaper;
  // A stream that never waits for other streams; made on first use.
  std::unique_ptr<cuda::Stream> host;
  // The limits that the session has set.
  struct Limit {
    uint64_t first = 0;  // the driver's own value
    Charge memory;       // of device memory, beyond that of `first`
  };
  std::map<v1::DeviceLimit, Limit> limits;
};

// The open devices of a session. Not thread-safe.
class SessionDevices {
 public:
  struct Options {
    const cuda::DriverApi* api = nullptr;  // must outlive the devices
    // The client's ordinals of the devices that the session may use; empty:
    // all.
    std::vector<uint32_t> devices;
    DevicePlacement placement;         // of `devices`
    std::shared_ptr<Account> account;  // the quotas of the session
    uint32_t first_chunk = 1;          // see memory::AllocatorOptions
    // The callbacks of memory::AllocatorOptions, with the device's ordinal.
    std::function<void(uint32_t device, const memory::Chunk&)> chunk_created;
    std::function<void(uint32_t device, const memory::Chunk&)> chunk_released;
    // Called when a device was opened, with the lowest address for its chunks.
    std::function<void(uint32_t device, CUdeviceptr base)> device_opened;
  };

  // Opens no device yet.
  explicit SessionDevices(Options options);
  SessionDevices(const SessionDevices&) = delete;
  SessionDevices& operator=(const SessionDevices&) = delete;

  // Returns a device; never null. The first call for a device makes its
  // context, allocator and reaper. Valid as long as this object. NOT_FOUND:
  // there is no such device. PERMISSION_DENIED: the session may not use the
  // device.
  absl::StatusOr<DeviceState*> Open(uint32_t ordinal);
  // Returns the session's first device, on which page-locked memory for all
  // devices is made. Fails as Open.
  absl::StatusOr<DeviceState*> OpenFirst() { return Open(first_ordinal()); }
  uint32_t first_ordinal() const {
    return options_.devices.empty() ? 0 : options_.devices.front();
  }

  // The open devices by ordinal, in ascending order.
  const std::map<uint32_t, DeviceState>& open() const { return devices_; }

  // Makes the context of the first opened device current, so that calls for the
  // device need not switch contexts. Costs a few nanoseconds if the context is
  // current.
  void MakeCurrent() const;
  // Blocks until the work of all devices is done. Logs errors.
  void Synchronize() const;

  // Returns DeviceState::host, for work that must not wait for the session's
  // streams. Fails as Open.
  absl::StatusOr<const cuda::Stream*> HostStream(uint32_t ordinal);

  // Allocates device memory for the resource `handle`, which may be of any
  // kind: at the resource's old place while a session is restored, else with
  // DeviceAllocator::Allocate, or AllocateAlone if `alone`.
  absl::StatusOr<memory::Allocation> Allocate(uint64_t handle, uint32_t ordinal,
                                              uint64_t size,
                                              const cuda::Stream* stream,
                                              bool alone);

  // Begin and end the restoration of a session. `inheritance` must live until
  // EndRestore.
  void BeginRestore(Inheritance* inheritance) { inheritance_ = inheritance; }
  void EndRestore();
  bool restoring() const { return inheritance_ != nullptr; }
  // REQUIRES: restoring().
  const Inheritance& inheritance() const { return *inheritance_; }
  // The copiers for bytes of a suspended session; EndRestore clears them.
  MemoryCopiers& copiers() { return copiers_; }

 private:
  absl::Status CheckMayUse(uint32_t ordinal) const;
  memory::AllocatorOptions AllocatorOptionsOf(uint32_t ordinal);
  // Allocates memory at the place that the resource had in the earlier process.
  absl::StatusOr<memory::Allocation> AllocateInherited(DeviceState& device,
                                                       uint64_t handle,
                                                       uint32_t ordinal,
                                                       uint64_t size);
  // Maps the chunk of the placement, or makes it from a suspended session's
  // bytes. Does nothing if this was done already.
  absl::Status Adopt(DeviceState& device, const internal::Placement& placement);

  const Options options_;
  Inheritance* inheritance_ = nullptr;  // null: no session is restored
  MemoryCopiers copiers_;
  std::map<uint32_t, DeviceState> devices_;
  std::shared_ptr<const cuda::Context> first_context_;  // null: none is open
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_SESSION_DEVICES_H_
