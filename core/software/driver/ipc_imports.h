// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_IMPORTS_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_IMPORTS_H_

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "cuda.h"

namespace holdfast::software {

// The memory of other processes that this process has opened. As in CUDA, Open
// of a handle that is open returns the same address again, and the address must
// be closed as many times as it was opened. Compares handles by their 64 bytes.
// Thread-safe.
class IpcImports {
 public:
  // Opens a handle, and sets *pointer to its address. Calls, under a lock:
  // - alive(CUdeviceptr) returns true if the address of an open handle is still
  //   mapped; it is not if its context has ended.
  // - open(CUdeviceptr*) maps a handle that is not open. If it fails, Open
  //   returns its error, and the handle is not open.
  template <typename Alive, typename OpenHandle>
  CUresult Open(const CUipcMemHandle& handle, CUdeviceptr* pointer, Alive alive,
                OpenHandle open) {
    const std::string key(handle.reserved, sizeof(handle.reserved));
    MutexLock lock(&mutex_);
    Import& import = imports_[key];
    if (import.references > 0 && alive(import.address)) {
      ++import.references;
      *pointer = import.address;
      return CUDA_SUCCESS;
    }
    const CUresult result = open(&import.address);
    if (result != CUDA_SUCCESS) {
      imports_.erase(key);
      return result;
    }
    import.references = 1;
    *pointer = import.address;
    return CUDA_SUCCESS;
  }

  // Closes an address once. Calls close(), under the lock, if this was the last
  // reference to the address. CUDA_ERROR_INVALID_VALUE: nothing is open at the
  // address.
  template <typename CloseAddress>
  CUresult Close(CUdeviceptr pointer, CloseAddress close) {
    MutexLock lock(&mutex_);
    for (auto it = imports_.begin(); it != imports_.end(); ++it) {
      if (it->second.address != pointer) continue;
      if (--it->second.references == 0) {
        imports_.erase(it);
        close();
      }
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  }

 private:
  struct Import {
    CUdeviceptr address = 0;
    int references = 0;
  };
  Mutex mutex_;
  std::map<std::string, Import> imports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_IMPORTS_H_
