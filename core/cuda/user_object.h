// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_USER_OBJECT_H_
#define HOLDFAST_CORE_CUDA_USER_OBJECT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda.h"

namespace holdfast::cuda {

// An object of the program that graphs keep alive (cuUserObjectCreate). Its
// destructor calls the program's function.
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

// Delays the program's functions of user objects that are destroyed on the
// calling thread while this object lives. The destructor calls them. Used by
// calls that hold a lock, because such a function may wait for a thread that
// waits for the lock. Does not nest.
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

// Counted references to objects by their handles: those of the program, or
// those of one graph. A copy is a second set of references.
class UserReferences {
 public:
  // Adds `count` references. The table stores one shared_ptr per object, and a
  // count.
  void Add(CUuserObject handle, std::shared_ptr<UserObject> object,
           uint64_t count);
  // Removes `count` references. Returns false, and changes nothing, if there
  // are fewer.
  bool Remove(CUuserObject handle, uint64_t count);
  // Removes all references to objects to which `others` has a reference, too.
  void RemoveObjectsOf(const UserReferences& others);
  bool empty() const { return entries_.empty(); }
  // Null if there is no reference.
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
