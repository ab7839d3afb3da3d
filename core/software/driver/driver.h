// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/context.h"
#include "core/software/driver/device.h"
#include "core/software/driver/event.h"
#include "core/software/driver/graph/handles.h"
#include "core/software/driver/handle_table.h"
#include "core/software/driver/host_function.h"
#include "core/software/driver/ipc_imports.h"
#include "core/software/driver/library.h"
#include "core/software/driver/linker.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/memory_pool.h"
#include "cuda.h"

namespace holdfast::software {

// Everything that the process shares: the devices and what hangs on handles.
// Made at the first call and never destroyed, so that threads of streams may
// run until the process ends. Thread-safe.
//
// Handles are looked up in the tables below; call.h does that for entry points.
class Driver {
 public:
  // Makes the driver, with its devices, from the settings on the first call.
  // Never fails.
  static Driver& Get();

  // cuInit. Other calls are refused before.
  void Initialize() { initialized_ = true; }
  bool initialized() const { return initialized_; }

  int device_count() const { return static_cast<int>(devices_.size()); }
  // Null if there is no such device. By the driver's ordinal, which counts the
  // devices that this process sees.
  Device* FindDevice(CUdevice ordinal);
  // Null if no device has this id, in either case of letters. In the form of
  // Device::pci_bus_id.
  Device* FindDevice(absl::string_view pci_bus_id);
  // The current context's device, else the first. REQUIRES: there is a device.
  Device& CurrentDevice();

  // Every stretch of memory that CUDA has been told about.
  MemoryMap memory;
  // Memory of other processes, by the handle that named it.
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

  // cuMemAddressReserve's ranges by their address. The range stays reserved
  // until RemoveReservation hands it back.
  void AddReservation(std::unique_ptr<AddressRange> range);
  // Null unless exactly this range is reserved.
  std::unique_ptr<AddressRange> RemoveReservation(uintptr_t address,
                                                  size_t size);
  // The bytes lie in one range.
  bool IsReserved(uintptr_t address, size_t size);

  // A device's primary context; its handle stays the same for the process.
  // Makes the context if it has none, else counts one more reference.
  CUcontext RetainPrimary(Device& device);
  // Ends the context with the last reference. CUDA_ERROR_INVALID_CONTEXT: there
  // is none.
  CUresult ReleasePrimary(Device& device);
  // Ends the context whatever its references, which stay, each to be released:
  // cuDevicePrimaryCtxReset. The next RetainPrimary makes a new one.
  void ResetPrimary(Device& device);
  bool PrimaryActive(Device& device);
  // They hold for the present context and the next. CUDA_ERROR_INVALID_VALUE:
  // unknown bits.
  CUresult SetPrimaryFlags(Device& device, unsigned flags);
  unsigned PrimaryFlags(Device& device);
  bool IsPrimary(CUcontext context) const;

  // cuCtxCreate's, with a handle of its own.
  std::shared_ptr<Context> CreateContext(Device& device, unsigned flags);
  // Waits for the context's work and frees everything that it owns.
  void EndContext(Context& context);

  // Puts the library's kernels into `kernels`, and takes them out again. The
  // handles are put into the library's entries.
  void PublishKernels(Library& library);
  void WithdrawKernels(Library& library);

  // Waits until nothing runs any more that could touch memory, but for streams
  // that wait for a value in memory, perhaps for ever: what comes behind such a
  // wait may not use memory that is freed before it, as on a GPU.
  void DrainAll();

 private:
  Driver();

  struct Primary {
    std::shared_ptr<Context> context;
    int references = 0;
    unsigned flags = 0;
    // The context's handle outlives each of its lives.
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
  std::set<CUcontext> primary_handles_;  // all of them, never changed
};

// The calling thread's stack of contexts. Entries are handles: a context may
// end while it is on some thread's stack. Null: it has ended, or never was one.
// Costs no lookup for the current one.
std::shared_ptr<Context> FindContext(CUcontext handle);
// Null: there is none. It may name a context that has ended.
CUcontext CurrentHandle();
// Replaces the top of the stack; null takes it off.
void SetCurrent(CUcontext context);
// Makes `context` the top.
void PushCurrent(CUcontext context);
// False if the stack is empty.
bool PopCurrent(CUcontext* context);

// While one lives, a null stream means the thread's own default stream.
class PerThreadDefaultStream {
 public:
  // For the per-thread variants of entry points (proc_address.cc). Scopes nest.
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  static bool Active();

 private:
  const bool before_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
