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
class StallGuard {
 public:
  // `limit` is what a client may take for one message.
  explicit StallGuard(absl::Duration limit);
  ~StallGuard();
  StallGuard(const StallGuard&) = delete;
  StallGuard& operator=(const StallGuard&) = delete;

 private:
  struct Entry {
    grpc::ServerContextBase* context;
    absl::Time deadline;
  };

 public:
  // Neither the context nor the guard may end before it.
  class Watch {
   public:
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
