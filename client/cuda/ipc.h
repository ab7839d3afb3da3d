// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_IPC_H_
#define HOLDFAST_CLIENT_CUDA_IPC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/context.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/memory_pool.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// CUDA's IPC between processes of one daemon and one tenant. A handle's 64
// bytes hold a sharing token of the daemon, which cannot be guessed.
// Thread-safe.
class Ipc {
 public:
  static Ipc& Get();

  // Exports the whole allocation that contains `pointer`. The handle ends with
  // the allocation, with this process, or after 24 hours. Calls within 12 hours
  // return the same handle.
  // CUDA_ERROR_INVALID_VALUE: cuMemAlloc did not allocate it.
  CUresult GetMemory(Process& process, CUdeviceptr pointer,
                     CUipcMemHandle* handle);
  // Opens memory of another process for the context. Opening it again returns
  // the same address. CUDA_ERROR_INVALID_CONTEXT: the memory is this process's
  // own. CUDA_ERROR_INVALID_HANDLE: there is no such export, or the export is
  // not for this tenant.
  CUresult OpenMemory(Process& process, Context& context,
                      const CUipcMemHandle& handle, CUdeviceptr* pointer);
  // Closes memory that OpenMemory has opened, once for each opening. The last
  // call unmaps the memory. CUDA_ERROR_INVALID_VALUE: `pointer` was not opened,
  // or was already closed as often as it was opened.
  CUresult CloseMemory(Process& process, CUdeviceptr pointer);

  // Export memory pools. The descriptor of ExportPool holds the pool's kind and
  // name. The data of ExportPoolMemory name one allocation: a token names
  // device memory, and ends as a handle of GetMemory does; an ArenaReference
  // names pinned memory. Both functions fail with CUDA_ERROR_INVALID_VALUE if
  // the pool was made without POSIX descriptors as handle type, or was
  // imported.
  CUresult ExportPool(const MemoryPool& pool, int* fd);
  // Imports a pool. A pool of device memory belongs to the device of the
  // current context, or to the first device if there is no current context.
  // CUDA_ERROR_INVALID_VALUE: the descriptor is not from ExportPool.
  CUresult ImportPool(Process& process, int fd, CUmemoryPool* pool);
  CUresult ExportPoolMemory(Process& process, CUdeviceptr pointer,
                            CUmemPoolPtrExportData* data);
  // Opens pool memory of another process or of this process; otherwise works as
  // OpenMemory does. Pinned memory has one address in the process, so contexts
  // share its import. CUDA_ERROR_INVALID_VALUE: `pool` was not imported, or
  // `data` is not of an allocation of that pool.
  CUresult ImportPoolMemory(Process& process, Context& context,
                            std::shared_ptr<MemoryPool> pool,
                            const CUmemPoolPtrExportData& data,
                            CUdeviceptr* pointer);
  // Ends one import of pool memory. Sets *ended to the memory if this was its
  // last import, else to null. CUDA_ERROR_INVALID_VALUE: as CloseMemory.
  CUresult FreePoolMemory(Process& process, CUdeviceptr pointer,
                          std::shared_ptr<Allocation>* ended);

  // Export and open events. Each OpenEvent makes another handle. Only the
  // process that made an event records it. CUDA_ERROR_INVALID_HANDLE: GetEvent
  // got an event of another process, or an event without CU_EVENT_INTERPROCESS;
  // or OpenEvent got a handle that is not from GetEvent, or whose event is
  // gone. CUDA_ERROR_INVALID_CONTEXT: this process has made the event.
  CUresult GetEvent(Process& process,
                    const std::shared_ptr<ProgramEvent>& event,
                    CUipcEventHandle* handle);
  CUresult OpenEvent(Process& process, Context& context,
                     const CUipcEventHandle& handle, CUevent* event);

 private:
  // Identifies opened memory: the context's id, and the token or, for pinned
  // memory, the bytes of the export's data. The id is 0 for pinned memory,
  // because all contexts share it and it outlives them.
  using Key = std::pair<uint64_t, std::string>;

  // Opens the memory that `key` identifies. On the first open, `map` maps the
  // memory and sets the address and the size of the Allocation.
  CUresult Open(Process& process, Context& context, const Key& key,
                std::shared_ptr<MemoryPool> pool,
                absl::FunctionRef<absl::Status(Allocation&)> map,
                CUdeviceptr* pointer);
  // Ends one use of opened memory. Returns the memory if this was its last use,
  // or null if it was not. nullopt: nothing was opened at the address.
  std::optional<std::shared_ptr<Allocation>> Close(Process& process,
                                                   CUdeviceptr pointer);

  struct Opened {
    std::weak_ptr<Allocation> memory;  // ends with its context
    int times = 0;
  };

  absl::Mutex mutex_;
  // The memory of tokens that this process has made.
  std::map<std::string, std::weak_ptr<Allocation>> own_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, Opened> opened_ ABSL_GUARDED_BY(mutex_);
  // The events of tokens that this process has made.
  std::map<std::string, std::weak_ptr<ProgramEvent>> own_events_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_IPC_H_
