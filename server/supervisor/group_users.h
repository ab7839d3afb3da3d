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

// The users that executors of groups have. All of a group have one, since an
// MPS server has clients of one user only. Thread-safe.
//
// A user is leased from a UserRange while the policy has the group or an
// executor of it lives.
class GroupUsers {
 public:
  using Lease = std::shared_ptr<const UserRange::Lease>;

  // `take` takes a user that nobody has; user 0 if none is free.
  explicit GroupUsers(std::function<Lease()> take) : take_(std::move(take)) {}

  // Returns the group's user, for one of its executors to hold until its end.
  // User 0: none is free now. A group without a free user is asked for again at
  // the next call.
  Lease Of(const std::string& group);

  // Lets go of the users of groups that none of these tenants is in: each is
  // free when the last executor that has it ends. A group that comes back
  // before that has the same user.
  void Retain(const std::vector<Concurrency>& tenants);

 private:
  // A group's user, with the two reasons to keep it.
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
