// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_PROCESS_H_
#define HOLDFAST_CLIENT_CUDA_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/event.h"
#include "client/cuda/code_table.h"
#include "client/cuda/connection.h"
#include "client/cuda/context.h"
#include "client/cuda/context_table.h"
#include "client/cuda/exported.h"
#include "client/cuda/graph_table.h"
#include "client/cuda/handle_table.h"
#include "client/cuda/link_state.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/pinned_memory.h"
#include "client/cuda/pool_table.h"
#include "core/cuda/coredump_table.h"
#include "cuda.h"

namespace holdfast::libcuda {

struct EventCapture;

// A CUevent.
struct ProgramEvent {
  ProgramEvent(Event made, uint64_t context, uint32_t ordinal)
      : event(std::move(made)), context_id(context), device(ordinal) {}

  Event event;
  uint64_t context_id = 0;
  uint32_t device = 0;  // the session's number
  // Another process has made the event, and records it.
  bool is_imported = false;
  bool is_interprocess = false;  // CU_EVENT_INTERPROCESS
  Exported exported;
  // The point of a capture, if the event was last recorded in a capture; else
  // null or stale. Guarded by GraphTable::mutex.
  std::shared_ptr<EventCapture> capture = nullptr;
};

// The driver's state in this process: the connection to the daemon, whose
// devices the program sees, and every live handle. Each table has a lock of its
// own. Never destroyed, because threads may use the driver while the process
// exits; the daemon ends the session with the process. Thread-safe.
class Process {
 public:
  static Process& Get();

  // Opens the connection if it is not open. FAILED_PRECONDITION: the process is
  // the child of a fork.
  absl::Status Init();
  // True after Init. False in the child of a fork: the session belongs to the
  // parent.
  bool initialized() const { return initialized_; }
  // True in the child of a fork. Init fails there; connection() still has the
  // driver's version.
  bool forked() const { return forked_; }

  // REQUIRES, for all calls below: Init has succeeded, here or in the parent.
  Connection& connection() const { return *connection_; }
  PinnedMemory& pinned() { return *pinned_; }
  ContextTable& contexts() { return *contexts_; }
  PoolTable& pools() { return *pools_; }

  // Waits for the session's work, and removes the streams, events, modules,
  // functions and memory of the context. Does nothing for null.
  void End(std::shared_ptr<Context> context);

  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, ProgramEvent> events;
  HandleTable<CUlinkState, LinkState> links;
  CodeTable code;
  GraphTable graphs;
  MemoryMap memory;
  cuda::CoredumpTable<absl::Mutex, absl::MutexLock> coredumps;

 private:
  Process();
  absl::Status Open();

  absl::Mutex init_mutex_;
  std::atomic<bool> initialized_{false};
  std::atomic<bool> forked_{false};
  // Set by Init, and then constant.
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<ContextTable> contexts_;
  std::unique_ptr<PoolTable> pools_;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PROCESS_H_
