// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_HANDLE_TABLE_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_HANDLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/cuda/handle_value.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// Maps the application's handles to live objects of one kind. Handle is CUDA's
// type: an opaque pointer or an integer. Thread-safe.
//
// The table shares ownership of its objects. A caller of Find can use the
// object even if another thread removes the handle meanwhile.
template <typename Handle, typename Object>
class HandleTable {
 public:
  // Adds an object, and returns its new handle.
  Handle Add(std::shared_ptr<Object> object) {
    const uint64_t value = cuda::NewHandleValue();
    WriterMutexLock lock(&mutex_);
    objects_.emplace(value, std::move(object));
    return (Handle)value;
  }

  // Adds an object under the caller's handle. REQUIRES: no object has the
  // handle.
  void AddAs(Handle handle, std::shared_ptr<Object> object) {
    WriterMutexLock lock(&mutex_);
    objects_[(uint64_t)handle] = std::move(object);
  }

  // Returns all objects, in no order.
  std::vector<std::shared_ptr<Object>> All() const {
    std::vector<std::shared_ptr<Object>> all;
    ReaderMutexLock lock(&mutex_);
    for (const auto& [value, object] : objects_) all.push_back(object);
    return all;
  }

  // Returns the object of the handle; null if the table has no such handle.
  std::shared_ptr<Object> Find(Handle handle) const {
    ReaderMutexLock lock(&mutex_);
    const auto it = objects_.find((uint64_t)handle);
    return it == objects_.end() ? nullptr : it->second;
  }

  // Returns the handle of an object for which predicate(const Object&) is true;
  // Handle{} if there is none. Takes linear time, under the lock.
  template <typename Predicate>
  Handle HandleOf(Predicate predicate) const {
    ReaderMutexLock lock(&mutex_);
    for (const auto& [value, object] : objects_) {
      if (predicate(*object)) return (Handle)value;
    }
    return Handle{};
  }

  // Adds a reference to the object's handle. One call of Remove drops the
  // reference. Adds the handle again if it has been removed meanwhile.
  void Retain(Handle handle, std::shared_ptr<Object> object) {
    const auto value = (uint64_t)handle;
    WriterMutexLock lock(&mutex_);
    if (!objects_.emplace(value, std::move(object)).second) ++retained_[value];
  }

  // Drops a reference that Retain has added, or removes the handle if there is
  // none. Returns the object; null if the table has no such handle.
  std::shared_ptr<Object> Remove(Handle handle) {
    WriterMutexLock lock(&mutex_);
    const auto it = objects_.find((uint64_t)handle);
    if (it == objects_.end()) return nullptr;
    const auto retained = retained_.find(it->first);
    if (retained != retained_.end()) {
      if (--retained->second == 0) retained_.erase(retained);
      return it->second;
    }
    std::shared_ptr<Object> object = std::move(it->second);
    objects_.erase(it);
    return object;
  }

  // Removes and returns the objects for which predicate(const Object&) is true.
  // The caller destroys the objects, so that their destructors run without the
  // lock.
  template <typename Predicate>
  std::vector<std::shared_ptr<Object>> RemoveIf(Predicate predicate) {
    std::vector<std::shared_ptr<Object>> removed;
    WriterMutexLock lock(&mutex_);
    for (auto it = objects_.begin(); it != objects_.end();) {
      if (predicate(*it->second)) {
        removed.push_back(std::move(it->second));
        retained_.erase(it->first);
        it = objects_.erase(it);
      } else {
        ++it;
      }
    }
    return removed;
  }

 private:
  mutable SharedMutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_
      ABSL_GUARDED_BY(mutex_);
  // The number of references beside the first, by handle. A handle with only
  // the first reference has no entry.
  std::unordered_map<uint64_t, int> retained_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_HANDLE_TABLE_H_
