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

// A range of Unix users for the processes that run clients' code. Each process
// has its own user, so that the kernel separates the processes from each other.
// Thread-safe.
class UserRange {
 public:
  // Holds one user of the range, and returns it to the range when destroyed. An
  // empty lease has user 0.
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

  // Parses "FIRST-LAST", two numbers above 0. INVALID_ARGUMENT: another text.
  static absl::StatusOr<std::shared_ptr<UserRange>> Parse(
      absl::string_view text);

  // Leases a user, in rotation. Skips users that have a process, such as an
  // executor of an earlier or another daemon: its threads would count against
  // the new process's limit. Reads which users have processes when the range is
  // made, and again when no other user is free. Returns an empty lease if every
  // user is leased or has a process, or if `range` is null. Static, because
  // leases keep the range alive.
  static Lease Take(const std::shared_ptr<UserRange>& range);
  // Leases `user` for a process of the earlier daemon. Returns an empty lease
  // if `range` is null or does not have this user, or if the user is leased
  // already.
  static Lease TakeBack(const std::shared_ptr<UserRange>& range, uid_t user);

 private:
  UserRange(uid_t first, uid_t last) : first_(first), last_(last) {}
  // Reads from /proc which users without a lease have processes.
  void FindProcesses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uid_t first_;
  const uid_t last_;
  absl::Mutex mutex_;
  // The offset at which Take begins, modulo the size of the range.
  uid_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uid_t> taken_ ABSL_GUARDED_BY(mutex_);
  std::set<uid_t> with_processes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_USER_RANGE_H_
