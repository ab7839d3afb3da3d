// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESULT_QUEUE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESULT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast::executor {

// Results on their way from the threads that find them to the one that sends
// them. Thread-safe; held by shared_ptr, since a result may come after the call
// that wanted it has been given up.
class ResultQueue {
 public:
  // Results that may wait before the client is not read from any more.
  static constexpr size_t kMaxWaiting = 4096;

  // More results may come until what this returns is dropped: for a batch on
  // its way to being processed.
  static std::shared_ptr<void> Hold(std::shared_ptr<ResultQueue> queue);

  // A command that was processed owes its result: Deliver follows.
  void Expect();
  void Deliver(v1::Result result);

  void Add(v1::Result result);
  void AddError(uint64_t sequence, const absl::Status& error);

  // Nothing more is accepted; Take ends when all that is owed has come.
  void Finish();
  // The client has gone: drop everything.
  void Abandon();

  // Waits until Take would not; false if it still would after `limit`.
  bool Await(absl::Duration limit);

  // Waits for results and moves them, up to about 1 MiB, into `batch`; false
  // when there will be none any more.
  bool Take(v1::ResultBatch* batch);

  // Waits until fewer than kMaxWaiting results wait; false if abandoned.
  bool AwaitRoom();

 private:
  void Release();
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return abandoned_ || !results_.empty() || (finished_ && owed_ == 0);
  }

  absl::Mutex mutex_;
  std::deque<v1::Result> results_ ABSL_GUARDED_BY(mutex_);
  size_t owed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESULT_QUEUE_H_
