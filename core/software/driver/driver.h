// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "core/software/driver/context.h"
#include "core/software/driver/device.h"
#include "core/software/driver/event.h"
#include "core/software/driver/handle_table.h"
#include "core/software/driver/ipc_imports.h"
#include "core/software/driver/library.h"
#include "core/software/driver/linker.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/memory_pool.h"
#include "cuda.h"

namespace holdfast::software {

// Everything that the process shares: the device and what hangs on handles.
// Made at the first call and never destroyed, so that threads of streams may
// run until the process ends. Thread-safe.
class Driver {
 public:
  static Driver& Get();

  void Initialize() { initialized_ = true; }
  bool initialized() const { return initialized_; }

  // Null if there is no such device.
  Device* FindDevice(CUdevice ordinal);
  Device& device() { return device_; }

  MemoryMap memory;
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

  // cuMemAddressReserve's ranges by their address.
  void AddReservation(std::unique_ptr<AddressRange> range);
  // Null unless exactly this range is reserved.
  std::unique_ptr<AddressRange> RemoveReservation(uintptr_t address,
                                                  size_t size);
  bool IsReserved(uintptr_t address, size_t size);

  // The primary context; its handle stays the same for the process.
  CUcontext RetainPrimary();
  CUresult ReleasePrimary();
  void ResetPrimary();
  bool PrimaryActive();
  CUresult SetPrimaryFlags(unsigned flags);
  unsigned PrimaryFlags();
  bool IsPrimary(CUcontext context) const;

  std::shared_ptr<Context> CreateContext(unsigned flags);
  // Waits for the context's work and frees everything that it owns.
  void EndContext(Context& context);

  // Puts the library's kernels into `kernels`, and takes them out again.
  void PublishKernels(Library& library);
  void WithdrawKernels(Library& library);

  // Waits until nothing runs any more that could touch memory.
  void DrainAll();

  CUmemoryPool default_pool() const { return default_pool_; }
  std::atomic<CUmemoryPool> current_pool{nullptr};

 private:
  Driver();

  std::atomic<bool> initialized_{false};
  Device device_;
  CUmemoryPool default_pool_ = nullptr;

  std::mutex mutex_;
  std::map<uintptr_t, std::unique_ptr<AddressRange>> reservations_
      ABSL_GUARDED_BY(mutex_);

  std::mutex primary_mutex_;
  std::shared_ptr<Context> primary_ ABSL_GUARDED_BY(primary_mutex_);
  int primary_references_ ABSL_GUARDED_BY(primary_mutex_) = 0;
  unsigned primary_flags_ ABSL_GUARDED_BY(primary_mutex_) = 0;
  // The primary context's handle outlives each of its lives.
  const CUcontext primary_handle_;
};

// The calling thread's stack of contexts. Entries are handles: a context may
// end while it is on some thread's stack.
std::shared_ptr<Context> FindContext(CUcontext handle);
CUcontext CurrentHandle();
void SetCurrent(CUcontext context);
void PushCurrent(CUcontext context);
// False if the stack is empty.
bool PopCurrent(CUcontext* context);

// While one lives, a null stream means the thread's own default stream.
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  static bool Active();

 private:
  const bool before_;
};

// While one lives, the calling thread runs the application's host function,
// which must not call CUDA.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  static bool Active();
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_DRIVER_H_
