// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/user_object.h"

#include <utility>

#include "core/cuda/host_function_scope.h"

namespace holdfast::cuda {
namespace {

thread_local DelayedDestructors* delayed = nullptr;

void CallProgram(CUhostFn function, void* data) {
  const HostFunctionScope scope;
  function(data);
}

}  // namespace

UserObject::~UserObject() {
  if (delayed == nullptr) {
    CallProgram(destroy_, data_);
  } else {
    delayed->calls_.push_back({destroy_, data_});
  }
}

DelayedDestructors::DelayedDestructors() { delayed = this; }

DelayedDestructors::~DelayedDestructors() {
  delayed = nullptr;
  for (const Call& call : calls_) CallProgram(call.function, call.data);
}

void UserReferences::Add(CUuserObject handle,
                         std::shared_ptr<UserObject> object, uint64_t count) {
  Entry& entry = entries_[handle];
  entry.object = std::move(object);
  entry.count += count;
}

bool UserReferences::Remove(CUuserObject handle, uint64_t count) {
  const auto it = entries_.find(handle);
  if (it == entries_.end() || it->second.count < count) return false;
  it->second.count -= count;
  if (it->second.count == 0) entries_.erase(it);
  return true;
}

void UserReferences::RemoveObjectsOf(const UserReferences& others) {
  for (const auto& [handle, entry] : others.entries_) entries_.erase(handle);
}

std::shared_ptr<UserObject> UserReferences::Find(CUuserObject handle) const {
  const auto it = entries_.find(handle);
  return it == entries_.end() ? nullptr : it->second.object;
}

}  // namespace holdfast::cuda
