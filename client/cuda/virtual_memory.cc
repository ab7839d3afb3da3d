// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/virtual_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/cuda/answer.h"
#include "client/cuda/memory_map.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

bool IsWhole(uint64_t value) { return value % kGranularity == 0; }

bool IsAccess(CUmemAccess_flags flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// Addresses are reserved in a device's range; memory of any device can be
// mapped there.
holdfast::Device CurrentDevice(Process& process) {
  const auto context = process.contexts().Find(CurrentContext());
  return context != nullptr ? context->device()
                            : process.connection().session().device(
                                  process.connection().devices()[0].ordinal());
}

}  // namespace

VirtualMemory& VirtualMemory::Get() {
  static VirtualMemory& memory = *new VirtualMemory;
  return memory;
}

CUresult VirtualMemory::Reserve(Process& process, uint64_t size,
                                uint64_t alignment, CUdeviceptr wish,
                                CUdeviceptr* address) {
  if (size == 0 || !IsWhole(size) || (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  HOLDFAST_ANSWER_OR_ASSIGN(
      Buffer addresses, CurrentDevice(process).ReserveAddresses(size, wish));
  HOLDFAST_ANSWER_OR_ASSIGN(const uint64_t base, addresses.address());
  if (alignment != 0 && base % alignment != 0) return CUDA_ERROR_NOT_SUPPORTED;
  absl::MutexLock lock(&mutex_);
  reservations_.emplace(base, Reservation(std::move(addresses)));
  *address = base;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Free(CUdeviceptr address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second.addresses.size() != size ||
      !found->second.mappings.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

VirtualMemory::Reservations::value_type* VirtualMemory::Find(
    CUdeviceptr address, uint64_t size) {
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return nullptr;
  auto& found = *std::prev(after);
  const uint64_t offset = address - found.first;
  const uint64_t all = found.second.addresses.size();
  return offset < all && size <= all - offset ? &found : nullptr;
}

CUresult VirtualMemory::Map(CUdeviceptr address, uint64_t size,
                            CUmemGenericAllocationHandle handle,
                            std::shared_ptr<PhysicalMemory> memory) {
  if (memory == nullptr || size == 0 || !IsWhole(size) || !IsWhole(address) ||
      size > memory->size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  absl::MutexLock lock(&mutex_);
  auto* const found = Find(address, size);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Mappings& mappings = found->second.mappings;
  const auto after = mappings.lower_bound(address);
  const bool overlaps_next =
      after != mappings.end() && after->first - address < size;
  const bool overlaps_previous =
      after != mappings.begin() &&
      address - std::prev(after)->first < std::prev(after)->second.size;
  if (overlaps_next || overlaps_previous) return CUDA_ERROR_INVALID_VALUE;
  if (size < memory->size()) return CUDA_ERROR_NOT_SUPPORTED;
  Mapping& mapping = mappings[address];
  mapping.size = size;
  mapping.handle = handle;
  mapping.memory = std::move(memory);
  return CUDA_SUCCESS;
}

std::vector<VirtualMemory::Mappings::iterator> VirtualMemory::Tiles(
    Reservation& reservation, CUdeviceptr address, uint64_t size) {
  std::vector<Mappings::iterator> tiles;
  const CUdeviceptr end = address + size;
  auto mapping = reservation.mappings.find(address);
  while (mapping != reservation.mappings.end() && mapping->first == address) {
    tiles.push_back(mapping);
    address += mapping->second.size;
    if (address == end) return tiles;
    ++mapping;
  }
  return {};
}

bool VirtualMemory::Within(Reservation& reservation, CUdeviceptr address,
                           uint64_t size,
                           std::vector<Mappings::iterator>* mappings) {
  const CUdeviceptr end = address + size;
  auto next = reservation.mappings.lower_bound(address);
  if (next != reservation.mappings.begin()) {
    const auto& [begin, before] = *std::prev(next);
    if (begin + before.size > address) return false;
  }
  for (; next != reservation.mappings.end() && next->first < end; ++next) {
    if (next->second.size > end - next->first) return false;
    mappings->push_back(next);
  }
  return true;
}

CUresult VirtualMemory::Unmap(Process& process, CUdeviceptr address,
                              uint64_t size) {
  absl::MutexLock lock(&mutex_);
  auto* const found = Find(address, size);
  if (found == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  Reservation& reservation = found->second;
  std::vector<Mappings::iterator> tiles;
  if (!IsWhole(size) || !Within(reservation, address, size, &tiles)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // As on a GPU, it is no error to unmap addresses where nothing is mapped.
  if (tiles.empty()) return CUDA_SUCCESS;
  HOLDFAST_ANSWER_IF_ERROR(process.connection().session().Synchronize());
  std::vector<Mapping> ended;
  for (const auto& tile : tiles) {
    ended.push_back(std::move(tile->second));
    reservation.mappings.erase(tile);
  }
  // The mappings end after nothing names their memory any more.
  return Answer(UpdateRuns(process, found->first, reservation));
}

std::vector<MemoryRun> VirtualMemory::RunsOf(const Reservation& reservation) {
  std::vector<MemoryRun> runs;
  for (const auto& [address, mapping] : reservation.mappings) {
    if (!mapping.mapped.has_value()) continue;
    const int ordinal = mapping.memory->ordinal();
    if (!runs.empty() && runs.back().ordinal == ordinal &&
        runs.back().address + runs.back().size == address) {
      runs.back().size += mapping.size;
    } else {
      runs.push_back({address, mapping.size, ordinal});
    }
  }
  return runs;
}

absl::Status VirtualMemory::UpdateRuns(Process& process, CUdeviceptr base,
                                       Reservation& reservation) {
  return reservation.runs.Update(
      process.memory, RunsOf(reservation), [&](const MemoryRun& run) {
        return reservation.addresses.Sub(run.address - base, run.size);
      });
}

absl::Status VirtualMemory::SetAccess(Process& process, CUdeviceptr base,
                                      Reservation& reservation,
                                      Mappings::value_type& mapping,
                                      CUmemAccess_flags access) {
  auto& [address, mapped] = mapping;
  if (mapped.access == access) return absl::OkStatus();
  if (mapped.mapped.has_value()) {
    HOLDFAST_RETURN_IF_ERROR(process.connection().session().Synchronize());
    mapped.mapped.reset();
    mapped.access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }
  if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(
      mapped.mapped, reservation.addresses.MapAt(
                         address - base, mapped.memory->buffer, mapped.size,
                         access == CU_MEM_ACCESS_FLAGS_PROT_READ));
  mapped.access = access;
  return absl::OkStatus();
}

CUresult VirtualMemory::SetAccess(
    Process& process, CUdeviceptr address, uint64_t size,
    std::span<const CUmemAccessDesc> descriptions) {
  absl::MutexLock lock(&mutex_);
  auto* const found = Find(address, size);
  if (found == nullptr || descriptions.empty()) return CUDA_ERROR_INVALID_VALUE;
  auto& [base, reservation] = *found;
  const auto tiles = Tiles(reservation, address, size);
  if (tiles.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (const CUmemAccessDesc& d : descriptions) {
    if (d.location.type != CU_MEM_LOCATION_TYPE_DEVICE || d.location.id < 0 ||
        static_cast<size_t>(d.location.id) >=
            process.connection().devices().size() ||
        !IsAccess(d.flags)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const bool is_owners = std::all_of(
        tiles.begin(), tiles.end(), [&](const Mappings::iterator& tile) {
          return tile->second.memory->ordinal() == d.location.id;
        });
    if (!is_owners && d.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!is_owners) continue;
    for (const auto& tile : tiles) {
      HOLDFAST_ANSWER_IF_ERROR(
          SetAccess(process, base, reservation, *tile, d.flags));
    }
  }
  const absl::Status mapped = process.connection().AwaitCommands();
  if (!mapped.ok()) {
    for (const auto& tile : tiles) {
      tile->second.mapped.reset();
      tile->second.access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
  }
  const absl::Status updated = UpdateRuns(process, base, reservation);
  return Answer(mapped.ok() ? updated : mapped);
}

const VirtualMemory::Mapping* VirtualMemory::MappingAt(CUdeviceptr address) {
  auto* const found = Find(address, 1);
  if (found == nullptr) return nullptr;
  const Mappings& mappings = found->second.mappings;
  const auto after = mappings.upper_bound(address);
  if (after == mappings.begin()) return nullptr;
  const auto& [begin, mapping] = *std::prev(after);
  return address - begin < mapping.size ? &mapping : nullptr;
}

CUresult VirtualMemory::GetAccess(CUdeviceptr address, int ordinal,
                                  unsigned long long* flags) {
  absl::MutexLock lock(&mutex_);
  const Mapping* const mapping = MappingAt(address);
  if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = mapping->memory->ordinal() == ordinal
               ? mapping->access
               : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::Retain(CUdeviceptr address,
                               CUmemGenericAllocationHandle* handle) {
  absl::MutexLock lock(&mutex_);
  const Mapping* const mapping = MappingAt(address);
  if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
  PhysicalMemoryTable::Get().Retain(mapping->handle, mapping->memory);
  *handle = mapping->handle;
  return CUDA_SUCCESS;
}

}  // namespace holdfast::libcuda
