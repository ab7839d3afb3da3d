// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_COREDUMP_TABLE_H_
#define HOLDFAST_CORE_CUDA_COREDUMP_TABLE_H_

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "core/cuda/coredump_settings.h"
#include "cuda.h"

namespace holdfast::cuda {

// The attributes of core dumps of the process and of its contexts. A context
// without attributes of its own has those of the process. `MutexLock` is the
// scoped lock of `Mutex`: the two drivers have different mutexes. Thread-safe.
template <typename Mutex, typename MutexLock>
class CoredumpTable {
 public:
  // Calls body(CoredumpSettings&) with the settings of the process, and returns
  // its result. All calls of `body` hold the table's lock.
  template <typename Body>
  CUresult WithProcess(Body body) {
    MutexLock lock(&mutex_);
    return body(process_);
  }

  // Calls body(CoredumpSettings&) with the context's own settings, and returns
  // its result. The first call for a context copies the settings of the
  // process.
  template <typename Body>
  CUresult WithContext(uint64_t context_id, Body body) {
    MutexLock lock(&mutex_);
    return body(contexts_.try_emplace(context_id, process_).first->second);
  }

  // Calls body(const CoredumpSettings&) with the context's own settings, or
  // with those of the process if it has none. Returns the result of `body`.
  template <typename Body>
  CUresult Find(uint64_t context_id, Body body) {
    MutexLock lock(&mutex_);
    const auto found = contexts_.find(context_id);
    return body(found == contexts_.end() ? process_ : found->second);
  }

  // Removes the settings of a context that has ended.
  void Remove(uint64_t context_id) {
    MutexLock lock(&mutex_);
    contexts_.erase(context_id);
  }

 private:
  Mutex mutex_;
  CoredumpSettings process_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, CoredumpSettings> contexts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_COREDUMP_TABLE_H_
