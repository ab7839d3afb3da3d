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
// handles name. The first call makes it. It is never destroyed, so that threads
// of streams may run until the process ends. Thread-safe.
//
// Each table of handles below has a lock of its own. Entry points look handles
// up with the functions of call.h.
class Driver {
 public:
  // Returns the driver. The first call makes it and its devices from the
  // settings. Never fails.
  static Driver& Get();

  // Implements cuInit: entry points fail before it. Returns false in a process
  // that was forked from a process that uses the driver.
  bool Initialize();
  // True after Initialize. False in a process that was forked after Initialize,
  // because it lacks the threads that run kernels.
  bool initialized() const { return initialized_; }

  int device_count() const { return static_cast<int>(devices_.size()); }
  // Returns the device with this ordinal, which counts the devices that are
  // visible to this process. Returns null if there is no such device.
  Device* FindDevice(CUdevice ordinal);
  // Returns the device with this PCI address; null if there is none.
  Device* FindDevice(const cuda::PciBusId& id);
  // Returns the device of the current context; without a current context, the
  // first device. REQUIRES: there is a device.
  Device& CurrentDevice();
  ContextTable& contexts() { return contexts_; }

  // All memory that CUDA calls have allocated, registered or imported.
  MemoryMap memory;
  // The imported memory of other processes, by its IPC handle.
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

  // Blocks until the context's work is done, ends the context, and frees
  // everything that belongs to it.
  void EndContext(Context& context);

  // Blocks until the work of all contexts is done, so that memory can be freed.
  // Does not wait for streams that wait for a value in memory, perhaps for
  // ever: as on a GPU, the program must not free memory that later work of such
  // a stream uses.
  void DrainAll();

 private:
  Driver();

  // Makes the devices and their default pools.
  std::vector<std::unique_ptr<Device>> MakeDevices();

  std::atomic<bool> initialized_{false};
  std::atomic<bool> forked_{false};
  const std::vector<std::unique_ptr<Device>> devices_;  // by ordinal
  ContextTable contexts_;                               // of devices_
};

// Each thread has a stack of contexts, of which the top is its current context.
// The stack holds handles, because a context may end while it is on a stack.
//
// Returns the living context with this handle; null if there is none. Needs no
// lookup in a table for the current context.
std::shared_ptr<Context> FindContext(CUcontext handle);
// Returns the top of the calling thread's stack, which may be a context that
// has ended; null if the stack is empty.
CUcontext CurrentContext();
// Replaces the top of the calling thread's stack; null removes it.
void SetCurrentContext(CUcontext context);
// Pushes `context` onto the calling thread's stack.
void PushContext(CUcontext context);
// Pops the top of the calling thread's stack and sets *context to it. Returns
// false if the stack is empty.
bool PopContext(CUcontext* context);

// A scope in which a null stream handle of the calling thread means the
// thread's own default stream.
class PerThreadDefaultStream {
 public:
  // Begins a scope. The per-thread variants of entry points
  // (api/proc_address.cc) use such scopes. Scopes nest.
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  // Returns true if the calling thread is in such a scope.
  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
