// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/user_object.h"

#include <utility>

#include "client/cuda/host_function.h"

namespace holdfast::libcuda {
namespace {

thread_local DelayedDestructors* delayed = nullptr;

void CallProgram(CUhostFn function, void* data) {
  const FunctionScope scope;
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

std::shared_ptr<UserObject> UserReferences::Find(CUuserObject handle) const {
  const auto found = entries_.find(handle);
  return found == entries_.end() ? nullptr : found->second.object;
}

void UserReferences::Add(CUuserObject handle,
                         std::shared_ptr<UserObject> object, uint64_t count) {
  Entry& entry = entries_[handle];
  entry.object = std::move(object);
  entry.count += count;
}

bool UserReferences::Remove(CUuserObject handle, uint64_t count) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.count < count) return false;
  found->second.count -= count;
  if (found->second.count == 0) entries_.erase(found);
  return true;
}

}  // namespace holdfast::libcuda
