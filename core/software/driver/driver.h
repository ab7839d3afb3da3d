// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_

#include <atomic>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/host_function_scope.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/context.h"
#include "core/software/driver/device.h"
#include "core/software/driver/event.h"
#include "core/software/driver/graph_handles.h"
#include "core/software/driver/handle_table.h"
#include "core/software/driver/ipc_imports.h"
#include "core/software/driver/library.h"
#include "core/software/driver/linker.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/memory_pool.h"
#include "cuda.h"

namespace holdfast::cuda {
struct PciBusId;
}

namespace holdfast::software {

// The state of the driver in this process: its devices, and the objects that
// handles name. Made on the first call and never destroyed, so that threads of
// streams may run until the process ends. Thread-safe.
//
// Handles are looked up in the tables below; call.h does that for entry points.
class Driver {
 public:
  // Makes the driver, with its devices, from the settings on the first call.
  // Never fails.
  static Driver& Get();

  // cuInit. All other calls are refused before it.
  void Initialize() { initialized_ = true; }
  bool initialized() const { return initialized_; }

  int device_count() const { return static_cast<int>(devices_.size()); }
  // Returns null if there is no such device. The ordinal counts the devices
  // that are visible to this process.
  Device* FindDevice(CUdevice ordinal);
  // Finds a device by its place on the PCI bus; null if there is none.
  Device* FindDevice(const cuda::PciBusId& id);
  // The current context's device, else the first. REQUIRES: there is a device.
  Device& CurrentDevice();

  // All memory that CUDA knows.
  MemoryMap memory;
  // Memory of other processes, by its IPC handle.
  IpcImports imports;
  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  HandleTable<CUmodule, Library> modules;
  HandleTable<CUlibrary, Library> libraries;
  HandleTable<CUfunction, Kernel> kernels;  // CUkernel as well
  HandleTable<CUlinkState, Linker> linkers;
  HandleTable<CUmemoryPool, MemoryPool> pools;
  HandleTable<CUmemGenericAllocationHandle, PhysicalMemory> physical;
  GraphHandles graphs;

  // Keeps a range of cuMemAddressReserve until RemoveReservation returns it.
  void AddReservation(std::unique_ptr<AddressRange> range);
  // Returns null unless exactly this range is reserved.
  std::unique_ptr<AddressRange> RemoveReservation(uintptr_t address,
                                                  size_t size);
  // Returns true if the bytes lie in one reserved range.
  bool IsReserved(uintptr_t address, size_t size);

  // Returns the handle of a device's primary context, which never changes.
  // Makes the context if there is none, and adds a reference.
  CUcontext RetainPrimary(Device& device);
  // Drops a reference. With the last, *ended is the context, for EndContext.
  // CUDA_ERROR_INVALID_CONTEXT: there is no reference.
  CUresult ReleasePrimary(Device& device, std::shared_ptr<Context>* ended);
  // cuDevicePrimaryCtxReset: returns the context, for EndContext; null: there
  // is none. Its references stay, and have to be released. The next
  // RetainPrimary makes a new context.
  std::shared_ptr<Context> ResetPrimary(Device& device);
  bool PrimaryActive(Device& device);
  // Sets the flags of the present context and of later ones.
  // CUDA_ERROR_INVALID_VALUE: unknown bits.
  CUresult SetPrimaryFlags(Device& device, unsigned flags);
  unsigned PrimaryFlags(Device& device);
  bool IsPrimary(CUcontext context) const;

  // Returns the living context with this id; null if there is none.
  std::shared_ptr<Context> FindContextById(uint64_t id) const;
  // Returns the device of a context, which may have ended; null if there was
  // never such a context.
  Device* DeviceOf(CUcontext context);

  // Makes a context for cuCtxCreate, with a handle of its own.
  std::shared_ptr<Context> CreateContext(Device& device, unsigned flags);
  // Waits for the context's work and frees everything that it owns.
  void EndContext(Context& context);

  // Add the library's kernels to `kernels`, and remove them again. Their
  // handles are stored in the library's entries.
  void PublishKernels(Library& library);
  void WithdrawKernels(Library& library);

  // Waits until no work runs that could touch memory, except for streams that
  // wait for a value in memory, perhaps for ever: work behind such a wait must
  // not use memory that is freed before it, as on a GPU.
  void DrainAll();

 private:
  Driver();

  struct Primary {
    std::shared_ptr<Context> context;
    int references = 0;
    unsigned flags = 0;
    // The handle of each context that the device has in turn.
    CUcontext handle = nullptr;
  };
  Primary& PrimaryOf(const Device& device)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(primary_mutex_) {
    return primaries_[static_cast<size_t>(device.ordinal())];
  }

  std::atomic<bool> initialized_{false};
  std::vector<std::unique_ptr<Device>> devices_;  // by ordinal

  Mutex mutex_;
  std::map<uintptr_t, std::unique_ptr<AddressRange>> reservations_
      ABSL_GUARDED_BY(mutex_);

  Mutex primary_mutex_;
  std::vector<Primary> primaries_ ABSL_GUARDED_BY(primary_mutex_);
  std::map<CUcontext, Device*> primary_handles_;  // all, never changed
  // The device of every context that cuCtxCreate made. An ended context may be
  // current.
  std::unordered_map<CUcontext, Device*> created_ ABSL_GUARDED_BY(mutex_);
};

// The functions below use the calling thread's stack of contexts. It holds
// handles, because a context may end while it is on a stack. Returns null for a
// handle of no live context. The current context is found without a lookup.
std::shared_ptr<Context> FindContext(CUcontext handle);
// Returns the top of the stack, which may be a context that has ended; null if
// the stack is empty.
CUcontext CurrentHandle();
// Replaces the top of the stack; null removes it.
void SetCurrent(CUcontext context);
// Pushes `context` onto the stack.
void PushCurrent(CUcontext context);
// Pops the top. Returns false if the stack is empty.
bool PopCurrent(CUcontext* context);

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
