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

// The granularity of memory and addresses: a daemon's chunks have it.
inline constexpr uint64_t kGranularity = uint64_t{2} << 20;

// Memory of cuMemCreate, or of another process. Programs use it where it is
// mapped (virtual_memory.h); the handle and each mapping keep it.
struct PhysicalMemory {
  explicit PhysicalMemory(Buffer made) : buffer(std::move(made)) {}

  Buffer buffer;
  CUmemAllocationProp properties{};
  Exported exported;

  uint64_t size() const { return buffer.size(); }
  int ordinal() const { return properties.location.id; }
};

// The handles of such memory. Thread-safe.
class PhysicalMemoryTable {
 public:
  using Handle = CUmemGenericAllocationHandle;

  static PhysicalMemoryTable& Get();

  // CUDA_ERROR_NOT_SUPPORTED: memory of the host, or handles other than
  // descriptors.
  static CUresult CheckProperties(Process& process,
                                  const CUmemAllocationProp& properties);

  // Waits for the daemon.
  CUresult Create(Process& process, uint64_t size,
                  const CUmemAllocationProp& properties, Handle* handle);
  // Another handle of memory that exists.
  Handle Add(std::shared_ptr<PhysicalMemory> memory);
  // Null: there is no such handle.
  std::shared_ptr<PhysicalMemory> Find(Handle handle);
  // False: there is no such handle.
  bool Remove(Handle handle);

  // Export makes a descriptor that holds a sharing token of the daemon. Import
  // accepts only such descriptors. It maps memory of another process for the
  // current context's device, or for the first device if there is no context.
  // CUDA_ERROR_INVALID_VALUE: the memory was created without descriptors as a
  // handle type; the descriptor is not from Export. Both may wait for the
  // daemon.
  CUresult Export(Process& process, Handle handle, int* fd);
  CUresult Import(Process& process, int fd, Handle* handle);

 private:
  absl::Mutex mutex_;
  std::map<Handle, std::shared_ptr<PhysicalMemory>> memories_
      ABSL_GUARDED_BY(mutex_);
  // The memory of tokens that this process has made.
  std::map<std::string, std::weak_ptr<PhysicalMemory>> exported_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_PHYSICAL_MEMORY_H_
