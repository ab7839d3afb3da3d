// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CUDA_HANDLE_TABLE_H_
#define HOLDFAST_CLIENT_CUDA_HANDLE_TABLE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/handle_value.h"

namespace holdfast::libcuda {

// Live objects of one kind by their handles in the program. A call that has
// found an object can use it to its end, even if another thread destroys the
// handle. Thread-safe.
template <typename Handle, typename Object>
class HandleTable {
 public:
  Handle Add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(cuda::NewHandleValue());
    absl::MutexLock lock(&mutex_);
    objects_[handle] = std::move(object);
    return handle;
  }

  // Returns null if the handle is not a live object of this kind.
  std::shared_ptr<Object> Find(Handle handle) const {
    absl::ReaderMutexLock lock(&mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  // Returns the handle of an object; null: it has none. Searches all objects.
  Handle HandleOf(const Object* object) const {
    absl::ReaderMutexLock lock(&mutex_);
    for (const auto& [handle, found] : objects_) {
      if (found.get() == object) return handle;
    }
    return nullptr;
  }

  // Returns all objects, to be used without the lock.
  std::vector<std::shared_ptr<Object>> All() const {
    absl::ReaderMutexLock lock(&mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

  // Ends the handle, and returns its object; null: there is none.
  std::shared_ptr<Object> Remove(Handle handle) {
    absl::MutexLock lock(&mutex_);
    auto node = objects_.extract(handle);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  // Ends the handles of all objects that `predicate` accepts, and returns
  // those objects: their destructors run without the lock.
  template <typename Predicate>
  std::vector<std::shared_ptr<Object>> RemoveIf(Predicate predicate) {
    std::vector<std::shared_ptr<Object>> removed;
    absl::MutexLock lock(&mutex_);
    absl::erase_if(objects_, [&](auto& entry) {
      if (!predicate(*entry.second)) return false;
      removed.push_back(std::move(entry.second));
      return true;
    });
    return removed;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Handle, std::shared_ptr<Object>> objects_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_HANDLE_TABLE_H_
