// SPDX-License-Identifier: Apache-2.0
//
// The map of the memory that CUDA calls may name. cuPointerGetAttribute reads
// the map, and copies are checked against it.
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
  kAlias,       // the bytes of a kRegistered region at an address for kernels
};

// Returns true if memory of this kind is host memory.
constexpr bool IsHost(MemoryKind kind) {
  return kind == MemoryKind::kHost || kind == MemoryKind::kHostPool ||
         kind == MemoryKind::kRegistered || kind == MemoryKind::kAlias;
}

// A set of devices, one bit for each ordinal. Ordinals are below 32.
using DeviceSet = uint32_t;
constexpr DeviceSet kAllDevices = ~DeviceSet{0};
constexpr DeviceSet SetOf(CUdevice device) { return DeviceSet{1} << device; }

// One allocation, mapping or registration. Each copy of a Region shares
// ownership of `backing`, and so keeps the memory mapped.
struct Region {
  uintptr_t address = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t context_id = 0;  // the region ends with this context; 0: none
  uint64_t buffer_id = 0;   // set by Insert, never reused
  unsigned flags = 0;       // cuMemHostAlloc, cuMemHostRegister
  // kRegistered: the address of the alias, or `address` if kernels can use
  // `address` (abi/window.h). kAlias: the address of the registered region.
  // Other kinds: 0.
  uintptr_t other = 0;
  // The device to which the memory belongs; for host memory, the device of the
  // region's context.
  CUdevice device = 0;
  // The devices that may read or write the region. Copies by the host are
  // allowed if any device has the access.
  DeviceSet readers = kAllDevices;
  DeviceSet writers = kAllDevices;
  cuda::MemoryAdvice advice;  // kManaged only
  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS. It has no effect, because synchronous
  // copies are always synchronous here.
  bool has_sync_memops = false;
  CUmemoryPool pool = nullptr;  // the pool of the memory; null: no pool
  // Unmaps the memory when the last copy ends; null: another object unmaps it.
  std::shared_ptr<Backing> backing;
  // kMapped: the memory that was mapped.
  std::shared_ptr<PhysicalMemory> physical;
  CUmemGenericAllocationHandle physical_handle = 0;  // of cuMemMap
  // Set by Insert in memcheck mode. Kernels may access the bytes of the region
  // while the entry lives. Null in other modes.
  std::shared_ptr<const BufferEntry> entry;

  // Returns the access that kernels of the device `by` have.
  CUmemAccess_flags AccessOf(CUdevice by) const {
    return (writers & SetOf(by)) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : (readers & SetOf(by)) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
};

// The location of the bytes of a copy. kPinned is host memory in a region.
// kPageable is any other host memory. kInvalid: a copy must not use the bytes.
enum class Location { kInvalid, kDevice, kPinned, kPageable };

// The set of all regions. Regions never overlap. Thread-safe.
class MemoryMap {
 public:
  // Adds a region, with a new buffer_id. Returns false if the region overlaps
  // another region.
  bool Insert(Region region);

  // Returns the region that contains `address`; nullopt if there is none.
  std::optional<Region> Find(uintptr_t address) const;

  // Removes and returns the region that starts at `address` if its kind is one
  // of `kinds`; nullopt if there is no such region. The bytes stay mapped as
  // long as the result lives.
  std::optional<Region> Remove(uintptr_t address,
                               std::initializer_list<MemoryKind> kinds);

  // Removes and returns all regions of a context. REQUIRES: the caller holds no
  // lock when it destroys the result, because the destructors may unmap memory.
  std::vector<Region> RemoveContext(uint64_t context_id);

  // Returns the regions of a range, by address, if they cover the range
  // exactly; otherwise an empty list.
  std::vector<Region> Tiles(uintptr_t address, size_t size) const;
  // Appends the regions that lie in the range to *regions. Returns false, with
  // *regions incomplete, if a region lies only partly in the range.
  bool Within(uintptr_t address, size_t size,
              std::vector<Region>* regions) const;
  // Returns true if a region has bytes in the range.
  bool Overlaps(uintptr_t address, size_t size) const;

  // Set fields of the region that starts at `address`. Do nothing if there is
  // no such region.
  void SetAccess(uintptr_t address, DeviceSet readers, DeviceSet writers);

  void Advise(uintptr_t address, const cuda::MemoryAdvice& advice);

  void SetSyncMemops(uintptr_t address, bool has_sync_memops);

  // Returns the location of [address, address + size):
  // - A range that starts at null or wraps around is kInvalid.
  // - A range that starts in a region has the location of this region. It is
  //   kInvalid if a byte lies in no region, or if a region forbids the access.
  // - A range that starts in no region is kInvalid if its first or last byte
  //   lies in the kernels' window (abi/window.h). Otherwise it is kPageable.
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
