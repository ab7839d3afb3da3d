// SPDX-License-Identifier: Apache-2.0
//
// Every stretch of memory that CUDA calls may name: what cuPointerGetAttribute
// tells, and what copies are checked against.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_MAP_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_MEMORY_MAP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/backing.h"
#include "cuda.h"

namespace holdfast::software {

enum class MemoryKind {
  kDevice,      // cuMemAlloc
  kManaged,     // cuMemAllocManaged
  kPool,        // cuMemAllocAsync
  kMapped,      // cuMemMap
  kImported,    // cuIpcOpenMemHandle, cuMemPoolImportPointer
  kGraph,       // cuGraphAddMemAllocNode
  kGlobal,      // a module's variable
  kHost,        // cuMemHostAlloc
  kRegistered,  // cuMemHostRegister
  kAlias,       // the same bytes in the window, where kernels reach them
};

// True for memory that the host owns.
constexpr bool IsHost(MemoryKind kind) {
  return kind == MemoryKind::kHost || kind == MemoryKind::kRegistered ||
         kind == MemoryKind::kAlias;
}

// A bit for each device, by ordinal. Devices have ordinals below 32.
using DeviceSet = uint32_t;
constexpr DeviceSet kAllDevices = ~DeviceSet{0};
constexpr DeviceSet SetOf(CUdevice device) { return DeviceSet{1} << device; }

// The hints of cuMemAdvise and cuMemPrefetchAsync about managed memory. Kept
// for cuMemRangeGetAttribute; they change nothing else.
struct MemoryAdvice {
  bool read_mostly = false;
  DeviceSet accessed_by_devices = 0;
  bool accessed_by_host = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, CU_DEVICE_INVALID};
};

// One allocation, mapping or registration. A value: copies keep `backing`
// alive, and with it the mapping.
struct Region {
  uintptr_t address = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t context_id = 0;  // whose end is the region's end; 0: none
  uint64_t buffer_id = 0;   // given by Insert, never used twice
  unsigned flags = 0;       // cuMemHostAlloc, cuMemHostRegister
  // kRegistered: the address of its alias, or its own if it lies in the window;
  // kAlias: of what is registered. 0: there is no other.
  uintptr_t other = 0;
  // Whose memory it is; for the host's, the device of its context.
  CUdevice device = 0;
  // Devices that may access it; the host's copies may if any device may.
  DeviceSet readers = kAllDevices;
  DeviceSet writers = kAllDevices;
  MemoryAdvice advice;
  CUmemoryPool pool = nullptr;       // kPool
  std::shared_ptr<Backing> backing;  // null if someone else unmaps
  // kMapped: what was mapped.
  std::shared_ptr<PhysicalMemory> physical;

  // The most that kernels of the device may do with it.
  CUmemAccess_flags AccessOf(CUdevice by) const {
    return (writers & SetOf(by)) != 0   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : (readers & SetOf(by)) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                        : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
};

// Where the bytes of a copy lie. kPinned is memory of the host that CUDA knows,
// kPageable any other.
enum class Location { kInvalid, kDevice, kPinned, kPageable };

// Thread-safe. Regions never overlap.
class MemoryMap {
 public:
  // False if it would overlap another region. Gives it a new buffer_id.
  bool Insert(Region region);

  // The region that `address` lies in. nullopt: CUDA was not told about it.
  std::optional<Region> Find(uintptr_t address) const;

  // Removes the region that starts at `address` if its kind is one of `kinds`.
  // nullopt: there is no such region. The bytes stay mapped as long as the
  // result.
  std::optional<Region> Remove(uintptr_t address,
                               std::initializer_list<MemoryKind> kinds);

  // Removes all regions of a context. Destroy the result without a lock: it may
  // unmap memory.
  std::vector<Region> RemoveContext(uint64_t context_id);

  // All regions within a range, in order, if they fill it without a hole and
  // none reaches beyond it; empty otherwise.
  std::vector<Region> Tiles(uintptr_t address, size_t size) const;
  bool Overlaps(uintptr_t address, size_t size) const;

  // Both do nothing unless a region starts at `address`.
  void SetAccess(uintptr_t address, DeviceSet readers, DeviceSet writers);

  void Advise(uintptr_t address, const MemoryAdvice& advice);

  // Returns the location of [address, address + size): kInvalid if any byte of
  // it may not be accessed. Memory that CUDA was not told about is kPageable.
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
