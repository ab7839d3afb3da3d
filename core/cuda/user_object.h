// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_USER_OBJECT_H_
#define HOLDFAST_CORE_CUDA_USER_OBJECT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// An object of the program that graphs keep alive (cuUserObjectCreate). The
// destructor calls destroy(data), a function of the program, unless a
// DelayedDestructors of the thread delays it.
class UserObject {
 public:
  UserObject(void* data, CUhostFn destroy) : data_(data), destroy_(destroy) {}
  ~UserObject();
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

 private:
  void* const data_;
  const CUhostFn destroy_;
};

// While this object lives, delays the functions of user objects that are
// destroyed on the calling thread; the destructor calls them. Used by calls
// that hold a lock, because such a function may wait for a thread that waits
// for the lock. Make it before the lock is taken, so that its destructor runs
// after the unlock. A thread must not have two of these objects at a time.
class DelayedDestructors {
 public:
  DelayedDestructors();
  ~DelayedDestructors();
  DelayedDestructors(const DelayedDestructors&) = delete;
  DelayedDestructors& operator=(const DelayedDestructors&) = delete;

 private:
  friend class UserObject;

  struct Call {
    CUhostFn function;
    void* data;
  };
  std::vector<Call> calls_;
};

// A set of counted references to user objects, by the objects' handles. The
// program has such a set, and each graph has one. A copy is a second set of
// references. Not thread-safe.
class UserReferences {
 public:
  // Adds `count` references to the object.
  void Add(CUuserObject handle, std::shared_ptr<UserObject> object,
           uint64_t count);
  // Removes `count` references. Returns false, and changes nothing, if there
  // are fewer.
  bool Remove(CUuserObject handle, uint64_t count);
  // Removes all references to those objects to which `others` has references.
  void RemoveObjectsOf(const UserReferences& others);
  bool empty() const { return entries_.empty(); }
  // Returns the object; null if this set has no reference to it.
  std::shared_ptr<UserObject> Find(CUuserObject handle) const;

 private:
  struct Entry {
    std::shared_ptr<UserObject> object;
    uint64_t count = 0;
  };
  std::map<CUuserObject, Entry> entries_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_USER_OBJECT_H_
