// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_IPC_H_
#define HOLDFAST_CLIENT_CUDA_IPC_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cuda/context.h"
#include "client/cuda/memory_map.h"
#include "client/cuda/process.h"
#include "cuda.h"

namespace holdfast::libcuda {

// CUDA's IPC between processes of one daemon and one tenant. A handle's 64
// bytes hold a sharing token of the daemon, which nobody can guess.
// Thread-safe.
class Ipc {
 public:
  static Ipc& Get();

  // Exports the whole allocation that begins at, or has, `pointer`. The handle
  // ends with the allocation, with this process, or after 24 hours.
  // CUDA_ERROR_INVALID_VALUE: cuMemAlloc did not allocate it.
  CUresult GetMemory(Process& process, CUdeviceptr pointer,
                     CUipcMemHandle* handle);
  // Opens memory of another process for the context. Opening it again returns
  // the same address. CUDA_ERROR_INVALID_CONTEXT: it is this process's own.
  // CUDA_ERROR_INVALID_HANDLE: there is no such export, or it is not for this
  // tenant.
  CUresult OpenMemory(Process& process, Context& context,
                      const CUipcMemHandle& handle, CUdeviceptr* pointer);
  // CUDA_ERROR_INVALID_VALUE: `pointer` was not opened, or was closed as often.
  CUresult CloseMemory(Process& process, CUdeviceptr pointer);

  // The same for events. Only the process that made an event records it.
  CUresult GetEvent(Process& process, ProgramEvent& event,
                    CUipcEventHandle* handle);
  CUresult OpenEvent(Process& process, Context& context,
                     const CUipcEventHandle& handle, CUevent* event);

 private:
  struct Opened {
    std::weak_ptr<Allocation> memory;  // ends with its context
    int times = 0;
  };

  absl::Mutex mutex_;
  std::set<std::string> own_ ABSL_GUARDED_BY(mutex_);  // tokens of this process
  // By the context and the token.
  std::map<std::pair<uint64_t, std::string>, Opened> opened_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_IPC_H_
