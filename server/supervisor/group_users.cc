// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/group_users.h"

#include <algorithm>

namespace holdfast::supervisor {

GroupUsers::Lease GroupUsers::Of(const std::string& group) {
  absl::MutexLock lock(&mutex_);
  User& user = users_[group];
  Lease lease = user.held.lock();
  if (lease == nullptr) lease = take_();
  // Not kept if there was none, so that the next executor asks again.
  if (lease->user() != 0) user = {.kept = lease, .held = lease};
  return lease;
}

void GroupUsers::Retain(const std::vector<Concurrency>& tenants) {
  absl::MutexLock lock(&mutex_);
  for (auto it = users_.begin(); it != users_.end();) {
    const auto entry = it++;
    const auto is_in = [&](const Concurrency& tenant) {
      return tenant.group == entry->first;
    };
    if (std::any_of(tenants.begin(), tenants.end(), is_in)) continue;
    entry->second.kept = nullptr;
    if (entry->second.held.expired()) users_.erase(entry);
  }
}

}  // namespace holdfast::supervisor
