// SPDX-License-Identifier: Apache-2.0
//
// The memory that CUDA calls may name. cuPointerGetAttribute reads it, and
// copies are checked against it.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_MAP_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/memory_advice.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/backing.h"
#include "cuda.h"

namespace holdfast::software {

enum class MemoryKind {
  kDevice,      // cuMemAlloc
  kManaged,     // cuMemAllocManaged
  kPool,        // cuMemAllocAsync
  kHostPool,    // cuMemAllocFromPoolAsync, of a pool of host memory
  kMapped,      // cuMemMap
  kImported,    // cuIpcOpenMemHandle, cuMemPoolImportPointer
  kGraph,       // cuGraphAddMemAllocNode
  kGlobal,      // a module's variable
  kHost,        // cuMemHostAlloc
  kRegistered,  // cuMemHostRegister
  kAlias,       // a kRegistered region's bytes at an address for kernels
};

// True for memory that the host owns.
constexpr bool IsHost(MemoryKind kind) {
  return kind == MemoryKind::kHost || kind == MemoryKind::kHostPool ||
         kind == MemoryKind::kRegistered || kind == MemoryKind::kAlias;
}

// A set of devices, one bit for each ordinal. Ordinals are below 32.
using DeviceSet = uint32_t;
constexpr DeviceSet kAllDevices = ~DeviceSet{0};
constexpr DeviceSet SetOf(CUdevice device) { return DeviceSet{1} << device; }

// One allocation, mapping or registration. A value: copies keep `backing`
// alive, and with it the mapping.
struct Region {
  uintptr_t address = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t context_id = 0;  // the region ends with this context; 0: none
  uint64_t buffer_id = 0;   // set by Insert, never reused
  unsigned flags = 0;       // cuMemHostAlloc, cuMemHostRegister
  // kRegistered: the address of the alias, or the region's own if kernels can
  // use it (abi/window.h). kAlias: the address of the registered region.
  // Otherwise 0.
  uintptr_t other = 0;
  // The device that the memory belongs to; for host memory, that of its
  // context.
  CUdevice device = 0;
  // Devices that may read or write the region. Copies by the host are allowed
  // if any device may.
  DeviceSet readers = kAllDevices;
  DeviceSet writers = kAllDevices;
  cuda::MemoryAdvice advice;  // kManaged only
  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, which changes nothing: synchronous copies
  // are synchronous always.
  bool has_sync_memops = false;
  CUmemoryPool pool = nullptr;       // of memory of a pool
  std::shared_ptr<Backing> backing;  // null if another object unmaps it
  // kMapped: the memory that was mapped.
  std::shared_ptr<PhysicalMemory> physical;
  CUmemGenericAllocationHandle physical_handle = 0;  // of cuMemMap
  // Set by Insert in memcheck mode: kernels may access the bytes while it
  // lives.
  std::shared_ptr<const BufferEntry> entry;

  // The access that kernels of the device have.
  CUmemAccess_flags AccessOf(CUdevice by) const {
    return (writers & SetOf(by)) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : (readers & SetOf(by)) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
};

// The location of the bytes of a copy. kPinned is host memory in a region,
// kPageable any other host memory.
enum class Location { kInvalid, kDevice, kPinned, kPageable };

// The set of all regions. Regions never overlap. Thread-safe.
class MemoryMap {
 public:
  // Adds a region, with a new buffer_id. Returns false if it overlaps another.
  bool Insert(Region region);

  // Returns the region that contains `address`; nullopt if CUDA knows none.
  std::optional<Region> Find(uintptr_t address) const;

  // Removes and returns the region that starts at `address` if its kind is one
  // of `kinds`; nullopt if there is none. The bytes stay mapped as long as the
  // result lives.
  std::optional<Region> Remove(uintptr_t address,
                               std::initializer_list<MemoryKind> kinds);

  // Removes and returns all regions of a context. REQUIRES: the caller holds no
  // lock when the result is destroyed, because that may unmap memory.
  std::vector<Region> RemoveContext(uint64_t context_id);

  // Returns the regions of a range, by address, if they cover it exactly; else
  // an empty list.
  std::vector<Region> Tiles(uintptr_t address, size_t size) const;
  // Finds the regions that lie in the range. Returns false if one of them
  // reaches beyond it.
  bool Within(uintptr_t address, size_t size,
              std::vector<Region>* regions) const;
  // Returns true if a region has bytes in the range.
  bool Overlaps(uintptr_t address, size_t size) const;

  // All three do nothing unless a region starts at `address`.
  void SetAccess(uintptr_t address, DeviceSet readers, DeviceSet writers);

  void Advise(uintptr_t address, const cuda::MemoryAdvice& advice);

  void SetSyncMemops(uintptr_t address, bool has_sync_memops);

  // Returns the location of [address, address + size). A range that starts in a
  // region is kInvalid if a byte lies in no region, or a region forbids the
  // access. A range that starts in no region is kInvalid if an end lies in the
  // kernels' window (abi/window.h), else kPageable. A range that starts at
  // null or wraps around is kInvalid.
  enum class Access { kRead, kWrite };
  Location Locate(uintptr_t address, size_t size, Access access) const;

 private:
  using Regions = std::map<uintptr_t, Region>;

  Regions::const_iterator FindLocked(uintptr_t address) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  mutable SharedMutex mutex_;
  Regions regions_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_buffer_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_MAP_H_
