// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_GROUP_USERS_H_
#define HOLDFAST_SERVER_SUPERVISOR_GROUP_USERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/process/user_range.h"
#include "server/tenants/concurrency.h"

namespace holdfast::supervisor {

// The Unix users of the executors of MPS groups. All executors of a group run
// as one user, because an MPS server serves clients of one user only.
// Thread-safe.
//
// A user is leased from a UserRange while the policy has the group or an
// executor of the group lives.
class GroupUsers {
 public:
  using Lease = std::shared_ptr<const UserRange::Lease>;

  // `take` leases an unused user; it returns user 0 if none is free.
  explicit GroupUsers(std::function<Lease()> take) : take_(std::move(take)) {}

  // Returns the lease of the group's user, which the caller holds until its
  // executor has ended. Returns user 0 if no user is free; the next call for
  // the group tries again.
  Lease Of(const std::string& group);

  // Releases the users of all groups but the groups of `tenants`, which are the
  // policy's. A user is free when its last executor has ended. A group that the
  // policy names again before that gets the same user.
  void Retain(const std::vector<Concurrency>& tenants);

 private:
  // A group's user: leased while the policy has the group or an executor lives.
  struct User {
    Lease kept;  // while the policy has the group
    std::weak_ptr<const UserRange::Lease> held;
  };

  const std::function<Lease()> take_;
  absl::Mutex mutex_;
  std::map<std::string, User> users_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_GROUP_USERS_H_
