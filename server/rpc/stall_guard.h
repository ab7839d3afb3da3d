// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_STALL_GUARD_H_
#define HOLDFAST_SERVER_RPC_STALL_GUARD_H_

#include <grpcpp/server_context.h>

#include <list>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Cancels calls whose client stalls. A thread that reads or writes a stream
// holds a Watch while it waits for the client. Thread-safe.
//
// The guard's thread checks four times within the limit, so a call may take a
// quarter longer:
//
//   const StallGuard::Watch watch(guard, context);
//   if (!stream.Read(&message)) return ...;  // cancelled, or it has ended
//
// A call that was cancelled fails with CANCELLED at its next use.
class StallGuard {
 public:
  // Starts the thread. `limit` is the longest time that a client may take for
  // one message.
  explicit StallGuard(absl::Duration limit);
  // REQUIRES: no Watch is left.
  ~StallGuard();
  StallGuard(const StallGuard&) = delete;
  StallGuard& operator=(const StallGuard&) = delete;

 private:
  // A waiting call. The deadline is infinite once the call was cancelled.
  struct Entry {
    grpc::ServerContextBase* context;
    absl::Time deadline;
  };

 public:
  // Limits one wait for a client, for as long as it lives. `guard` and
  // `context` must outlive it.
  class Watch {
   public:
    // Begins the time limit. Makes no system call.
    Watch(StallGuard& guard, grpc::ServerContextBase& context);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    StallGuard& guard_;
    std::list<Entry>::iterator entry_;
  };

 private:
  void Run();

  const absl::Duration limit_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // In the order of deadlines, because all have the same limit. Cancelled
  // calls, without a deadline, come last.
  std::list<Entry> watched_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STALL_GUARD_H_
