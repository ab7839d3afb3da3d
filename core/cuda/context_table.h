// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_CONTEXT_TABLE_H_
#define HOLDFAST_CORE_CUDA_CONTEXT_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/handle_value.h"
#include "cuda.h"

namespace holdfast::cuda {

// Returns true if all bits of `flags` are flags of cuCtxCreate.
inline bool AreContextFlags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0;
}

// Every context that a program has made, and the primary context of each
// device, for a driver whose contexts are `Context`. The handle of a context
// that has ended keeps its device, since it may be current in a thread.
// `MutexLock` is the scoped lock of `Mutex`: the two drivers have different
// mutexes. Thread-safe.
template <typename Context, typename Mutex, typename MutexLock>
class ContextTable {
 public:
  // A function that makes a context of a device. The table calls it with its
  // lock held.
  using Make = std::function<std::shared_ptr<Context>(
      int ordinal, unsigned flags, CUcontext handle)>;

  // The devices have the ordinals from 0 to `devices` - 1.
  ContextTable(int devices, Make make) : make_(std::move(make)) {
    MutexLock lock(&mutex_);
    for (int i = 0; i < devices; ++i) {
      primaries_.push_back({.handle = NewHandle(i)});
    }
  }

  // Makes a context with a new handle, for cuCtxCreate.
  std::shared_ptr<Context> Create(int ordinal, unsigned flags) {
    MutexLock lock(&mutex_);
    const CUcontext handle = NewHandle(ordinal);
    return contexts_[handle].context = make_(ordinal, flags, handle);
  }
  // Returns the living context with this handle; null if there is none.
  std::shared_ptr<Context> Find(CUcontext handle) const {
    MutexLock lock(&mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end() ? nullptr : found->second.context;
  }
  // Returns the living context with this id; null if there is none.
  std::shared_ptr<Context> FindById(uint64_t id) const {
    MutexLock lock(&mutex_);
    for (const auto& [handle, entry] : contexts_) {
      if (entry.context != nullptr && entry.context->id() == id) {
        return entry.context;
      }
    }
    return nullptr;
  }
  // Returns all living contexts, to be used without the lock.
  std::vector<std::shared_ptr<Context>> All() const {
    std::vector<std::shared_ptr<Context>> all;
    MutexLock lock(&mutex_);
    for (const auto& [handle, entry] : contexts_) {
      if (entry.context != nullptr) all.push_back(entry.context);
    }
    return all;
  }
  // Returns the device's number, also for a context that has ended; -1: the
  // handle was never a context.
  int OrdinalOf(CUcontext handle) const {
    MutexLock lock(&mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end() ? -1 : found->second.ordinal;
  }
  // Ends a context of Create, and returns it so that the caller can end its
  // resources. Returns null if the handle has no such context.
  std::shared_ptr<Context> Remove(CUcontext handle) {
    MutexLock lock(&mutex_);
    const auto found = contexts_.find(handle);
    return found == contexts_.end()
               ? nullptr
               : std::exchange(found->second.context, nullptr);
  }

  // The following functions are about the primary context of a device.
  // REQUIRES: `ordinal` is that of a device.
  //
  // Counts a user of the primary context, and makes the context if there is
  // none. Returns its handle, which never changes.
  CUcontext Retain(int ordinal) {
    MutexLock lock(&mutex_);
    Primary& primary = Of(ordinal);
    std::shared_ptr<Context>& context = contexts_[primary.handle].context;
    if (context == nullptr) {
      context = make_(ordinal, primary.flags, primary.handle);
    }
    ++primary.users;
    return primary.handle;
  }
  // Drops a user. Returns false if there is none. If it was the last user, ends
  // the context and sets *ended to it; otherwise does not change *ended.
  bool Release(int ordinal, std::shared_ptr<Context>* ended) {
    MutexLock lock(&mutex_);
    Primary& primary = Of(ordinal);
    if (primary.users == 0) return false;
    if (--primary.users == 0) {
      *ended = std::exchange(contexts_[primary.handle].context, nullptr);
    }
    return true;
  }
  // Ends the context and returns it; null if there is none. Does not change the
  // number of users.
  std::shared_ptr<Context> Reset(int ordinal) {
    MutexLock lock(&mutex_);
    return std::exchange(contexts_[Of(ordinal).handle].context, nullptr);
  }
  bool IsActive(int ordinal) const {
    MutexLock lock(&mutex_);
    return contexts_.at(Of(ordinal).handle).context != nullptr;
  }
  unsigned Flags(int ordinal) const {
    MutexLock lock(&mutex_);
    return Of(ordinal).flags;
  }
  // Sets the flags of the present primary context and of later ones.
  void SetFlags(int ordinal, unsigned flags) {
    MutexLock lock(&mutex_);
    Primary& primary = Of(ordinal);
    primary.flags = flags;
    const std::shared_ptr<Context>& context = contexts_[primary.handle].context;
    if (context != nullptr) context->flags() = flags;
  }
  bool IsPrimary(CUcontext handle) const {
    MutexLock lock(&mutex_);
    return std::any_of(
        primaries_.begin(), primaries_.end(),
        [&](const Primary& primary) { return primary.handle == handle; });
  }

 private:
  struct Entry {
    int ordinal = 0;
    std::shared_ptr<Context> context;  // null: it has ended
  };
  struct Primary {
    CUcontext handle = nullptr;
    unsigned flags = CU_CTX_SCHED_AUTO;
    int users = 0;
  };

  CUcontext NewHandle(int ordinal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto handle = reinterpret_cast<CUcontext>(NewHandleValue());
    contexts_[handle] = {.ordinal = ordinal, .context = nullptr};
    return handle;
  }
  Primary& Of(int ordinal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return primaries_[static_cast<size_t>(ordinal)];
  }
  const Primary& Of(int ordinal) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return primaries_[static_cast<size_t>(ordinal)];
  }

  const Make make_;
  mutable Mutex mutex_;
  std::map<CUcontext, Entry> contexts_ ABSL_GUARDED_BY(mutex_);
  std::vector<Primary> primaries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTEXT_TABLE_H_
