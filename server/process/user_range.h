// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_USER_RANGE_H_
#define HOLDFAST_SERVER_PROCESS_USER_RANGE_H_

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {

// Users that nobody else is: each process that runs what clients send becomes
// one of them, so that the kernel keeps these processes apart as it keeps
// users apart. Thread-safe.
class UserRange {
 public:
  // Gives the user back when it ends. Empty, user 0: there was none.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    uid_t user() const { return user_; }

   private:
    friend class UserRange;
    Lease(std::shared_ptr<UserRange> range, uid_t user);
    std::shared_ptr<UserRange> range_;
    uid_t user_ = 0;
  };

  // "FIRST-LAST" of numbers above 0; INVALID_ARGUMENT for anything else.
  static absl::StatusOr<std::shared_ptr<UserRange>> Parse(
      absl::string_view text);

  // A user that no other lease holds, the one that was free for the longest
  // time; empty if all are taken. Users that had a process when the range was
  // made are passed over until the others are used up: executors of the daemon
  // before this one that have yet to end, which would count their threads with
  // the new one's, or another daemon's. Static, since leases keep the range. A
  // null range gives empty leases.
  static Lease Take(const std::shared_ptr<UserRange>& range);
  // The lease of a process that the daemon before has started as `user`. Empty
  // if the range does not have this user, or another lease holds it.
  static Lease TakeBack(const std::shared_ptr<UserRange>& range, uid_t user);

 private:
  UserRange(uid_t first, uid_t last) : first_(first), last_(last) {}
  // Reads /proc for the processes of these users, leases aside.
  void FindProcesses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uid_t first_;
  const uid_t last_;
  absl::Mutex mutex_;
  uid_t next_ ABSL_GUARDED_BY(mutex_) = 0;  // the last one taken, less first_
  std::set<uid_t> taken_ ABSL_GUARDED_BY(mutex_);
  std::set<uid_t> with_processes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_USER_RANGE_H_
