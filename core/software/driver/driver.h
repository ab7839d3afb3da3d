// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_

#include <atomic>
#include <memory>
#include <vector>

#include "core/cuda/coredump_table.h"
#include "core/cuda/host_function_scope.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/code_table.h"
#include "core/software/driver/context.h"
#include "core/software/driver/context_table.h"
#include "core/software/driver/device.h"
#include "core/software/driver/event.h"
#include "core/software/driver/graph_handles.h"
#include "core/software/driver/handle_table.h"
#include "core/software/driver/ipc_imports.h"
#include "core/software/driver/linker.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/memory_pool.h"
#include "core/software/driver/reservations.h"
#include "cuda.h"

namespace holdfast::cuda {
struct PciBusId;
}

namespace holdfast::software {

// The state of the driver in this process: its devices, and the objects that
// handles name. Made on the first call and never destroyed, so that threads of
// streams may run until the process ends. Thread-safe.
//
// Handles are looked up in the tables below, each with a lock of its own;
// call.h does that for entry points.
class Driver {
 public:
  // Makes the driver, with its devices, from the settings on the first call.
  // Never fails.
  static Driver& Get();

  // cuInit. All other calls are refused before it. Returns false in a process
  // that was forked from one that uses the driver.
  bool Initialize();
  // True after Initialize. False in a process that was forked from then on: it
  // has none of the threads that run kernels.
  bool initialized() const { return initialized_; }

  int device_count() const { return static_cast<int>(devices_.size()); }
  // Returns null if there is no such device. The ordinal counts the devices
  // that are visible to this process.
  Device* FindDevice(CUdevice ordinal);
  // Finds a device by its place on the PCI bus; null if there is none.
  Device* FindDevice(const cuda::PciBusId& id);
  // The current context's device, else the first. REQUIRES: there is a device.
  Device& CurrentDevice();
  ContextTable& contexts() { return contexts_; }

  // All memory that CUDA knows.
  MemoryMap memory;
  // Memory of other processes, by its IPC handle.
  IpcImports imports;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  CodeTable code;
  HandleTable<CUlinkState, Linker> linkers;
  HandleTable<CUmemoryPool, MemoryPool> pools;
  HandleTable<CUmemGenericAllocationHandle, PhysicalMemory> physical;
  Reservations reservations;
  GraphHandles graphs;
  cuda::CoredumpTable<Mutex, MutexLock> coredumps;

  // Waits for the context's work and frees everything that it owns.
  void EndContext(Context& context);

  // Waits until no work runs that could touch memory, except for streams that
  // wait for a value in memory, perhaps for ever: work behind such a wait must
  // not use memory that is freed before it, as on a GPU.
  void DrainAll();

 private:
  Driver();

  // Each device gets its default pool.
  std::vector<std::unique_ptr<Device>> MakeDevices();

  std::atomic<bool> initialized_{false};
  std::atomic<bool> forked_{false};
  const std::vector<std::unique_ptr<Device>> devices_;  // by ordinal
  ContextTable contexts_;                               // of devices_
};

// The functions below use the calling thread's stack of contexts. It holds
// handles, because a context may end while it is on a stack. Returns null for a
// handle of no live context. The current context is found without a lookup.
std::shared_ptr<Context> FindContext(CUcontext handle);
// Returns the top of the stack, which may be a context that has ended; null if
// the stack is empty.
CUcontext CurrentContext();
// Replaces the top of the stack; null removes it.
void SetCurrentContext(CUcontext context);
// Pushes `context` onto the stack.
void PushContext(CUcontext context);
// Pops the top. Returns false if the stack is empty.
bool PopContext(CUcontext* context);

// While one lives, a null stream handle means the thread's own default stream.
class PerThreadDefaultStream {
 public:
  // For the per-thread variants of entry points (api/proc_address.cc). Scopes
  // nest.
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
