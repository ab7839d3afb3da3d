// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/user_object.h"

#include <utility>

namespace holdfast::libcuda {

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

bool UserReferences::Remove(CUuserObject handle, uint64_t count,
                            std::shared_ptr<UserObject>* last) {
  const auto found = entries_.find(handle);
  if (found == entries_.end() || found->second.count < count) return false;
  found->second.count -= count;
  if (found->second.count > 0) return true;
  *last = std::move(found->second.object);
  entries_.erase(found);
  return true;
}

}  // namespace holdfast::libcuda
