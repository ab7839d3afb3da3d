// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_PHYSICAL_MEMORY_H_
#define HOLDFAST_CLIENT_CUDA_PHYSICAL_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/buffer.h"
#include "client/cuda/exported.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// The granularity of memory and of addresses, in bytes: that of the daemon's
// chunks.
inline constexpr uint64_t kGranularity = uint64_t{2} << 20;

// Memory of cuMemCreate, or memory imported from another process. Programs
// access it through mappings (virtual_memory.h). The handles and the mappings
// share its ownership.
struct PhysicalMemory {
  explicit PhysicalMemory(Buffer made) : buffer(std::move(made)) {}

  Buffer buffer;
  CUmemAllocationProp properties{};
  Exported exported;

  uint64_t size() const { return buffer.size(); }
  int ordinal() const { return properties.location.id; }
};

// The table of CUmemGenericAllocationHandles. Thread-safe.
class PhysicalMemoryTable {
 public:
  using Handle = CUmemGenericAllocationHandle;

  static PhysicalMemoryTable& Get();

  // Fails as cuda::CheckAllocationProperties.
  static CUresult CheckProperties(Process& process,
                                  const CUmemAllocationProp& properties);

  // Allocates memory and makes a handle. Blocks until the daemon answers. Fails
  // as CheckProperties, or with the daemon's error.
  CUresult Create(Process& process, uint64_t size,
                  const CUmemAllocationProp& properties, Handle* handle);
  // Returns a new handle of existing memory.
  Handle Add(std::shared_ptr<PhysicalMemory> memory);
  // Adds a reference to the handle, which Remove takes back. A handle that was
  // removed names `memory` again.
  void Retain(Handle handle, std::shared_ptr<PhysicalMemory> memory);
  // Returns null if there is no such handle.
  std::shared_ptr<PhysicalMemory> Find(Handle handle);
  // Removes a reference, and the handle with the last one. Returns false if
  // there is no such handle. Mappings keep the memory.
  bool Remove(Handle handle);

  // Export makes a descriptor that holds a sharing token of the daemon. Import
  // accepts only such descriptors. It imports memory of another process for the
  // current context's device, or for the first device if there is no context.
  // CUDA_ERROR_INVALID_VALUE: there is no such handle; the memory was created
  // without descriptors as a handle type; the descriptor is not from Export.
  // The caller owns *fd. Both may wait for the daemon.
  CUresult Export(Process& process, Handle handle, int* fd);
  CUresult Import(Process& process, int fd, Handle* handle);

 private:
  struct Entry {
    std::shared_ptr<PhysicalMemory> memory;
    int references = 0;
  };

  absl::Mutex mutex_;
  std::map<Handle, Entry> memories_ ABSL_GUARDED_BY(mutex_);
  // The memory that this process has exported, by its tokens.
  std::map<std::string, std::weak_ptr<PhysicalMemory>> exported_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PHYSICAL_MEMORY_H_
