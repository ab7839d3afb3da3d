// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SESSION_H_
#define HOLDFAST_SERVER_EXECUTOR_SESSION_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/command_processor.h"
#include "server/executor/kernel_output.h"
#include "server/executor/resources.h"
#include "server/executor/result_queue.h"
#include "server/executor/submission_thread.h"

namespace holdfast::executor {

// What the executor's services share: the one session, its resources, and the
// thread that owns them. Thread-safe.
class Session {
 public:
  struct Options {
    std::string token;  // 16 bytes
    ResourceOptions resources;
    ObjectFetcher fetch_object;
    // Called on the submission thread when the device memory in buffers has
    // changed.
    std::function<void()> usage_changed;
    // What kernels print; must outlive the session. Null: it goes nowhere.
    KernelOutput* output = nullptr;
  };

  explicit Session(Options options);
  // Waits for the devices and frees all.
  ~Session();

  // Drops what has not been processed; later work is refused.
  void Stop();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Does the call carry this session's token?
  absl::Status Authenticate(const grpc::ServerContextBase& context) const;

  // Checks the batch as a whole and queues it; `bytes` is what it takes in
  // memory, more or less. Its results go to `results`. Blocks while the session
  // has as many outstanding commands as it may have. INVALID_ARGUMENT: too many
  // commands, or numbers that do not increase.
  absl::Status Submit(std::shared_ptr<const v1::CommandBatch> batch,
                      size_t bytes, std::shared_ptr<ResultQueue> results);

  // Waits until every command up to `sequence` has been processed. CANCELLED:
  // the call was given up; UNAVAILABLE: the session is being closed.
  absl::Status AwaitSequence(uint64_t sequence,
                             const grpc::ServerContext& context);

  // Runs `work` on the submission thread; Run waits for it. False: the session
  // is being closed, and the work does not run.
  bool Post(std::function<void(Resources&)> work);
  bool Run(const std::function<void(Resources&)>& work);

  // One Execute stream at a time; what kernels print goes to its results.
  bool TakeExecute(std::shared_ptr<ResultQueue> results);
  void ReturnExecute();

  // Adds what was printed while there was none.
  void TakeOutput(v1::ResultBatch* results);

 private:
  void ReportUsage();

  const Options options_;
  // Held while a batch is queued, so that batches run in the order of their
  // numbers; may be held for as long as the queue is full.
  absl::Mutex submit_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // The last sequence number that was queued.
  uint64_t accepted_ ABSL_GUARDED_BY(submit_mutex_) = 0;

  absl::Mutex mutex_;
  uint64_t processed_ ABSL_GUARDED_BY(mutex_) = 0;  // the last that was run
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool executing_ ABSL_GUARDED_BY(mutex_) = false;
  // Shared with those who wake it, who may outlive the session.
  const std::shared_ptr<SubmissionThread> thread_;
  std::unique_ptr<Resources> resources_;  // of the submission thread
  CommandProcessor processor_;            // likewise
  uint64_t reported_bytes_ = 0;           // likewise
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SESSION_H_
