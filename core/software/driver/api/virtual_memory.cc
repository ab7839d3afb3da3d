// SPDX-License-Identifier: Apache-2.0
//
// Entry points: address ranges and physical memory apart from each other.
#include <fcntl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cuda/allocation_properties.h"
#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

constexpr size_t kGranularity = 2 << 20;

bool IsWhole(size_t size) { return size != 0 && size % kGranularity == 0; }

CUresult CheckProperties(Driver& driver, const CUmemAllocationProp& p) {
  return holdfast::cuda::CheckAllocationProperties(p, driver.device_count());
}

struct Rights {
  bool readable;
  bool writable;
};

bool ParseRights(CUmemAccess_flags flags, Rights* rights) {
  switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      *rights = {false, false};
      return true;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      *rights = {true, false};
      return true;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      *rights = {true, true};
      return true;
    default:
      return false;
  }
}

// Pages have one protection for the whole process: what any device may do,
// all may.
CUresult Protect(Driver& driver, Region& region, CUdevice device,
                 Rights rights) {
  const auto change = [device](DeviceSet& set, bool add) {
    set = add ? set | SetOf(device) : set & ~SetOf(device);
  };
  change(region.readers, rights.readable);
  change(region.writers, rights.writable);
  auto& view = static_cast<FileView&>(*region.backing);
  const CUresult result =
      view.Protect(region.readers != 0, region.writers != 0);
  if (result == CUDA_SUCCESS) {
    driver.memory.SetAccess(region.address, region.readers, region.writers);
  }
  return result;
}

// The whole mappings that fill the range; empty if it is anything else.
std::vector<Region> Mappings(Driver& driver, CUdeviceptr address, size_t size) {
  std::vector<Region> regions = driver.memory.Tiles(address, size);
  for (const Region& region : regions) {
    if (region.kind != MemoryKind::kMapped) return {};
  }
  return regions;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(
    size_t* granularity, const CUmemAllocationProp* properties,
    CUmemAllocationGranularity_flags option) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(granularity, properties) ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult result = CheckProperties(driver, *properties);
    if (result == CUDA_SUCCESS) *granularity = kGranularity;
    return result;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size,
                             size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    if (address == nullptr || !IsWhole(size) || flags != 0 ||
        (alignment & (alignment - 1)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::unique_ptr<AddressRange> range = GetAddressSpace().ReserveHigh(
        size, std::max(alignment, kGranularity), hint);
    if (range == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = range->address();
    driver.reservations.Add(std::move(range));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  return WithDriver([&](Driver& driver) {
    if (driver.memory.Overlaps(address, size) ||
        driver.reservations.Remove(address, size) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(handle, properties) || !IsWhole(size) || flags != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = CheckProperties(driver, *properties);
    std::shared_ptr<PhysicalMemory> memory;
    if (result == CUDA_SUCCESS) {
      Device& device = *driver.FindDevice(properties->location.id);
      result =
          PhysicalMemory::Create(size, *properties, &device.memory(), &memory);
    }
    if (result == CUDA_SUCCESS) *handle = driver.physical.Add(memory);
    return result;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return WithDriver([&](Driver& driver) {
    // Mappings of it keep it.
    return driver.physical.Remove(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                     : CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<PhysicalMemory> memory = driver.physical.Find(handle);
    if (shareable == nullptr || memory == nullptr || flags != 0 ||
        type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        (memory->properties().requestedHandleTypes & type) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int fd = fcntl(memory->fd(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(shareable) = fd;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                        void* shareable,
                                        CUmemAllocationHandleType type) {
  return WithDriver([&](Driver& driver) {
    if (handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int fd = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    std::shared_ptr<PhysicalMemory> memory;
    // A memfd does not say on which device it was made.
    Device& device = driver.CurrentDevice();
    const CUresult result =
        PhysicalMemory::Import(fd, device.ordinal(), &device.memory(), &memory);
    if (result == CUDA_SUCCESS) *handle = driver.physical.Add(memory);
    return result;
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<PhysicalMemory> memory = driver.physical.Find(handle);
    if (memory == nullptr || flags != 0 || offset != 0 || !IsWhole(size) ||
        address % kGranularity != 0 || size > memory->size() ||
        !driver.reservations.Contains(address, size) ||
        driver.memory.Overlaps(address, size)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // As on a GPU, only whole allocations can be mapped.
    if (size < memory->size()) return CUDA_ERROR_NOT_SUPPORTED;
    std::unique_ptr<FileView> view;
    const CUresult result = FileView::Create(address, size, memory->fd(), 0,
                                             nullptr, memory, &view);
    if (result != CUDA_SUCCESS) return result;
    Region region;
    region.address = address;
    region.size = size;
    region.kind = MemoryKind::kMapped;
    region.device = memory->properties().location.id;
    region.readers = region.writers = 0;
    region.backing = std::move(view);
    region.physical = memory;
    region.physical_handle = handle;
    return driver.memory.Insert(std::move(region)) ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size) {
  return WithDriver([&](Driver& driver) {
    std::vector<Region> regions;
    if (!IsWhole(size) || !driver.reservations.Contains(address, size) ||
        !driver.memory.Within(address, size, &regions)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // As on a GPU: unmapping what is reserved and not mapped is no error.
    if (regions.empty()) return CUDA_SUCCESS;
    driver.DrainAll();
    for (const Region& region : regions) {
      driver.memory.Remove(region.address, {MemoryKind::kMapped});
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size,
                        const CUmemAccessDesc* descriptions, size_t count) {
  return WithDriver([&](Driver& driver) {
    if (descriptions == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Region> regions = Mappings(driver, address, size);
    if (regions.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& d = descriptions[i];
      Rights rights;
      if (d.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
          driver.FindDevice(d.location.id) == nullptr ||
          !ParseRights(d.flags, &rights)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      for (Region& region : regions) {
        const CUresult result = Protect(driver, region, d.location.id, rights);
        if (result != CUDA_SUCCESS) return result;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags,
                        const CUmemLocation* location, CUdeviceptr address) {
  return WithDriver([&](Driver& driver) {
    if (AnyNull(flags, location) ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (driver.FindDevice(location->id) == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    const std::optional<Region> region = driver.memory.Find(address);
    if (!region.has_value() || region->kind != MemoryKind::kMapped) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = region->AccessOf(location->id);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(
    CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return WithDriver([&](Driver& driver) {
    const std::shared_ptr<PhysicalMemory> memory = driver.physical.Find(handle);
    if (properties == nullptr || memory == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *properties = memory->properties();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle,
                                     void* pointer) {
  return WithDriver([&](Driver& driver) {
    const std::optional<Region> region =
        driver.memory.Find(reinterpret_cast<uintptr_t>(pointer));
    if (handle == nullptr || !region.has_value() ||
        region->physical == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    driver.physical.Retain(region->physical_handle, region->physical);
    *handle = region->physical_handle;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
