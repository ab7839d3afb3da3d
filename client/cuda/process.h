// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_PROCESS_H_
#define HOLDFAST_CLIENT_CUDA_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/event.h"
#include "client/cpp/session.h"
#include "client/cuda/context.h"
#include "client/cuda/context_table.h"
#include "client/cuda/exported.h"
#include "client/cuda/graph_table.h"
#include "client/cuda/handle_table.h"
#include "client/cuda/link_state.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/memory_pool.h"
#include "client/cuda/module.h"
#include "client/cuda/pinned_memory.h"
#include "cuda.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::libcuda {

struct EventCapture;

// A CUevent.
struct ProgramEvent {
  ProgramEvent(Event made, uint64_t context, uint32_t ordinal)
      : event(std::move(made)), context_id(context), device(ordinal) {}

  Event event;
  uint64_t context_id = 0;
  uint32_t device = 0;  // the session's number
  // Another process made it, and records it.
  bool is_imported = false;
  Exported exported;
  // The point of a capture, if the event was last recorded in a capture; else
  // null or stale. Guarded by GraphTable::mutex.
  std::shared_ptr<EventCapture> capture = nullptr;
};

// A library whose image cannot be read.
struct RefusedLibrary {
  absl::Status reason;
  bool is_told = false;  // the program has read it in its error log
};

// The driver's state in this process: one session, whose devices and contexts
// the program sees, and every live handle. Never destroyed, because threads may
// use the driver while the process exits; the daemon ends the session with the
// process. Thread-safe.
class Process {
 public:
  static Process& Get();

  // Opens the session if it is not open: at $HOLDFAST_ADDRESS or the default
  // address, named $HOLDFAST_SESSION_NAME or after the program.
  // FAILED_PRECONDITION: the process is the child of a fork.
  absl::Status Init();
  // True after Init. False in the child of a fork: the session belongs to the
  // parent.
  bool initialized() const { return initialized_; }

  // REQUIRES, for all calls below: Init has succeeded.
  Session& session() { return *session_; }
  PinnedMemory& pinned() { return *pinned_; }
  // The program's devices, in the order of its numbers. The descriptions never
  // change.
  const std::vector<v1::Device>& devices() const { return devices_; }
  int driver_version() const { return driver_version_; }
  // The daemon's driver is the software driver.
  bool is_software() const { return is_software_; }
  // The daemon is on this machine, so that kernels reach pinned memory of the
  // process.
  bool shares_memory() const;

  ContextTable& contexts() { return *contexts_; }
  // The default pool and the current pool of a device, of host memory, or of
  // managed memory. cuMemAllocAsync uses a device's current pool. REQUIRES:
  // `ordinal` is a device, for kDevice.
  CUmemoryPool DefaultPool(MemoryPool::Kind kind, int ordinal) const {
    return default_pools_[PoolIndex(kind, ordinal)];
  }
  CUmemoryPool CurrentPool(MemoryPool::Kind kind, int ordinal) const {
    absl::MutexLock lock(&pools_mutex_);
    return current_pools_[PoolIndex(kind, ordinal)];
  }
  void SetCurrentPool(const MemoryPool& pool, CUmemoryPool handle) {
    absl::MutexLock lock(&pools_mutex_);
    current_pools_[PoolIndex(pool.kind(), pool.ordinal())] = handle;
  }
  bool IsDefaultPool(CUmemoryPool pool) const;

  // Returns the session's tenant. The program shares memory only with processes
  // of this tenant. The first call waits for the daemon.
  absl::StatusOr<std::string> Tenant();

  // Waits until the daemon has processed all commands so far, but not for their
  // work. Returns the first failure that no call has returned yet.
  absl::Status AwaitCommands();

  // Waits for the session's work, and removes the streams, events, modules,
  // functions and memory of the context. Does nothing for null.
  void End(std::shared_ptr<Context> context);

  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, ProgramEvent> events;
  HandleTable<CUmodule, Module> modules;
  HandleTable<CUlibrary, const RefusedLibrary> refused_libraries;
  HandleTable<CUlinkState, LinkState> links;
  HandleTable<CUmemoryPool, MemoryPool> pools;
  GraphTable graphs;
  FunctionTable functions;
  MemoryMap memory;

 private:
  Process();
  absl::Status Open();

  absl::Mutex init_mutex_;
  std::atomic<bool> initialized_{false};
  std::atomic<bool> forked_{false};
  // Set by Init, and then constant.
  std::unique_ptr<Session> session_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<ContextTable> contexts_;
  std::vector<v1::Device> devices_;
  int driver_version_ = 0;
  bool is_software_ = false;
  // The index in default_pools_ and current_pools_. Pools of devices come
  // first.
  size_t PoolIndex(MemoryPool::Kind kind, int ordinal) const;

  std::vector<CUmemoryPool> default_pools_;

  absl::Mutex tenant_mutex_;
  std::string tenant_ ABSL_GUARDED_BY(tenant_mutex_);  // empty: not known yet

  mutable absl::Mutex pools_mutex_;
  std::vector<CUmemoryPool> current_pools_ ABSL_GUARDED_BY(pools_mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PROCESS_H_
