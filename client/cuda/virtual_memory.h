// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_VIRTUAL_MEMORY_H_
#define HOLDFAST_CLIENT_CUDA_VIRTUAL_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/buffer.h"
#include "client/cuda/memory_runs.h"
#include "client/cuda/physical_memory.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The addresses that the program has reserved, and the memory that is mapped
// there. The daemon maps memory when the program gives its device access, since
// nothing can use it before. Neighbouring memory with access is one allocation
// of Process::memory, so that a copy may reach over the seams. Thread-safe.
class VirtualMemory {
 public:
  static VirtualMemory& Get();

  // Reserves addresses of the current context's device, at `wish` if these are
  // free; 0: anywhere. Waits for the daemon, as do Unmap and SetAccess.
  // CUDA_ERROR_INVALID_VALUE: the size is 0 or no multiple of kGranularity, or
  // the alignment is neither 0 nor a power of two. CUDA_ERROR_NOT_SUPPORTED:
  // the daemon's addresses do not have the alignment.
  CUresult Reserve(Process& process, uint64_t size, uint64_t alignment,
                   CUdeviceptr wish, CUdeviceptr* address);
  // Ends a reservation. CUDA_ERROR_INVALID_VALUE: the range is not exactly one
  // reservation, or something is mapped there.
  CUresult Free(CUdeviceptr address, uint64_t size);

  // Maps the memory of `handle`. CUDA_ERROR_INVALID_VALUE: the addresses are
  // not reserved or not free, the memory is null or smaller, the size is 0, or
  // the address or size is no multiple of kGranularity.
  // CUDA_ERROR_NOT_SUPPORTED: `size` is less than that of the memory.
  CUresult Map(CUdeviceptr address, uint64_t size,
               CUmemGenericAllocationHandle handle,
               std::shared_ptr<PhysicalMemory> memory);
  // Unmaps the mappings in the range, and waits for the session's work if there
  // are any. The range may have addresses where nothing is mapped.
  // CUDA_ERROR_INVALID_VALUE: the range is not reserved, or has a part of a
  // mapping.
  CUresult Unmap(Process& process, CUdeviceptr address, uint64_t size);
  // Sets the access to the mappings in the range, as cuMemSetAccess does.
  // CUDA_ERROR_NOT_SUPPORTED: access for another device than the memory's.
  // CUDA_ERROR_INVALID_VALUE: whole mappings do not fill the range, or the
  // location of a description is no device, or its flags are no access.
  CUresult SetAccess(Process& process, CUdeviceptr address, uint64_t size,
                     std::span<const CUmemAccessDesc> descriptions);
  // Sets *flags to the access of a device to the memory at the address.
  // CUDA_ERROR_INVALID_VALUE: nothing is mapped there.
  CUresult GetAccess(CUdeviceptr address, int ordinal,
                     unsigned long long* flags);
  // Retains the handle that the memory at the address was mapped by.
  // CUDA_ERROR_INVALID_VALUE: nothing is mapped there.
  CUresult Retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle);

 private:
  struct Mapping {
    uint64_t size = 0;
    CUmemGenericAllocationHandle handle = 0;  // of cuMemMap
    std::shared_ptr<PhysicalMemory> memory;
    CUmemAccess_flags access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    std::optional<Buffer> mapped;  // in the daemon; none without access
  };
  using Mappings = std::map<CUdeviceptr, Mapping>;

  struct Reservation {
    explicit Reservation(Buffer made) : addresses(std::move(made)) {}
    Buffer addresses;
    Mappings mappings;
    MemoryRuns runs;  // of Process::memory
  };
  using Reservations = std::map<CUdeviceptr, Reservation>;

  // Returns the reservation that has the whole range; null: there is none.
  Reservations::value_type* Find(CUdeviceptr address, uint64_t size)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the mapping that has the address; null: there is none.
  const Mapping* MappingAt(CUdeviceptr address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Finds the mappings that lie in the range. Returns false if one of them
  // reaches beyond it.
  static bool Within(Reservation& reservation, CUdeviceptr address,
                     uint64_t size, std::vector<Mappings::iterator>* mappings);
  // Returns the mappings that fill the range exactly; empty: there are no such
  // mappings.
  static std::vector<Mappings::iterator> Tiles(Reservation& reservation,
                                               CUdeviceptr address,
                                               uint64_t size);
  static std::vector<MemoryRun> RunsOf(const Reservation& reservation);
  // Makes one allocation of Process::memory for each run of mappings; fails as
  // MemoryRuns::Update.
  static absl::Status UpdateRuns(Process& process, CUdeviceptr base,
                                 Reservation& reservation);
  static absl::Status SetAccess(Process& process, CUdeviceptr base,
                                Reservation& reservation,
                                Mappings::value_type& mapping,
                                CUmemAccess_flags access);

  absl::Mutex mutex_;
  Reservations reservations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_VIRTUAL_MEMORY_H_
