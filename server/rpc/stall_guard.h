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

// Cancels calls whose client does not go on: who reads or writes a stream, and
// must not do so for ever, waits under a Watch. Thread-safe.
//
// Its thread looks four times within a limit, so a call may take a quarter
// longer:
//
//   const StallGuard::Watch watch(guard, context);
//   if (!stream.Read(&message)) return ...;  // cancelled, or it has ended
//
// A call that was cancelled fails with CANCELLED at its next use.
class StallGuard {
 public:
  // `limit` is what a client may take for one message. Starts the thread.
  explicit StallGuard(absl::Duration limit);
  // REQUIRES: no Watch is left.
  ~StallGuard();
  StallGuard(const StallGuard&) = delete;
  StallGuard& operator=(const StallGuard&) = delete;

 private:
  // A call that waits; infinite once it was cancelled.
  struct Entry {
    grpc::ServerContextBase* context;
    absl::Time deadline;
  };

 public:
  // Neither the context nor the guard may end before it.
  class Watch {
   public:
    // Counts from now. Cheap: no system call.
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
  // By deadline, since all have the same limit; the cancelled ones, which have
  // none any more, last.
  std::list<Entry> watched_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_STALL_GUARD_H_
