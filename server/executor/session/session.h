// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_H_
#define HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/commands.pb.h"
#include "server/counters/command_counts.h"
#include "server/executor/command/command_processor.h"
#include "server/executor/command/encoded_commands.h"
#include "server/executor/journal/session_journal.h"
#include "server/executor/output/kernel_output.h"
#include "server/executor/resources/resources.h"
#include "server/executor/session/session_gate.h"
#include "server/executor/submission/result_queue.h"
#include "server/executor/submission/step_times.h"
#include "server/executor/submission/submission_thread.h"

namespace holdfast::executor {

// The session that the executor serves: its resources, and the submission
// thread that owns them. The executor's services share it. Thread-safe.
class Session {
 public:
  struct Options {
    std::string token;  // 16 bytes
    ResourceOptions resources;
    ObjectFetcher fetch_object;
    // Counts the commands.
    std::shared_ptr<CommandCounts> counts = std::make_shared<CommandCounts>();
    // Called on the submission thread when the device memory in buffers has
    // changed.
    std::function<void()> usage_changed;
    // Records the resources for a successor; null: no successor is possible.
    std::shared_ptr<SessionJournal> journal;
    // The epoch that this executor serves. The first executor of a session
    // serves epoch 1; each fault begins another epoch.
    uint64_t epoch = 1;
    // The last sequence number that an earlier executor has received.
    uint64_t received_through = 0;
    // Takes the output of kernels; must outlive the session. Null: the output
    // is dropped.
    KernelOutput* output = nullptr;
    // Called by any thread with the peer of each call that carries the token;
    // may be null.
    std::function<void(const std::string& peer)> authenticated;
  };

  explicit Session(Options options);
  // Calls Stop, blocks until the devices are idle, and frees all resources.
  ~Session();

  // Drops work that has not begun, and refuses later work. Does not block.
  void Stop();

  // Between Pause and Resume every call fails with ABORTED. The client has to
  // acknowledge the fault that has ended the previous epoch; then the
  // supervisor calls Resume. Resume also opens the gate again after Quiesce.
  void Pause();
  void Resume();

  // The gate of clients' work: a call holds a pass while it submits commands or
  // transfers bytes.
  SessionGate& gate() { return gate_; }

  // Closes the gate, and blocks until all accepted work is done and the devices
  // are idle: for an upgrade of the daemon if `memory_stays`, otherwise for a
  // suspension. Returns the variables of the session's modules, as
  // SaveVariables does. After an error the gate is open again.
  // DEADLINE_EXCEEDED: the error names the work that is not done.
  // FAILED_PRECONDITION: the error names a resource that cannot be suspended.
  absl::StatusOr<UniqueFd> Quiesce(bool memory_stays, absl::Time deadline);
  // Copies the chunks to `file`, which is borrowed, and blocks until they are
  // copied. REQUIRES: Quiesce has succeeded.
  absl::Status SaveMemory(const internal::SaveMemory& chunks, int file);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Checks the token of a call. UNAUTHENTICATED: the call carries no token, or
  // a malformed token. NOT_FOUND: the token is not the session's. ABORTED: the
  // session is paused.
  absl::Status Authenticate(const grpc::ServerContextBase& context) const;

  // Checks the batch and queues it. The results go to `results`. Blocks while
  // the session is at its limit of outstanding commands, or too many batches
  // wait. INVALID_ARGUMENT: the batch has too many commands, or its numbers do
  // not increase. UNAVAILABLE: the session is being closed.
  //
  // `bytes` is the approximate size of the batch in memory. `clock` notes the
  // start of the first command; may be null. `encoded` has the encoded commands
  // of the batch, and lives as long as the batch; may be null. `more` returns
  // true if the client has sent more than this batch. If it returns false, the
  // calling thread carries out a short batch itself, unless other work runs or
  // waits. If `more` is null, the calling thread never does so.
  absl::Status Submit(std::shared_ptr<const v1::CommandBatch> batch,
                      size_t bytes, std::shared_ptr<ResultQueue> results,
                      std::shared_ptr<ExecutorClock> clock = nullptr,
                      const EncodedCommands* encoded = nullptr,
                      const std::function<bool()>& more = nullptr);

  // Returns the last sequence number that has arrived. Does not block.
  uint64_t received_through() const { return arrived_; }

  // Blocks until every command up to `sequence` has been processed. CANCELLED:
  // a stop of `cancelled` was requested. UNAVAILABLE: the session is being
  // closed.
  absl::Status AwaitSequence(uint64_t sequence,
                             const std::stop_token& cancelled);

  // Run `work` on the submission thread, in the order of the calls. Post does
  // not wait for the work; Run blocks until its end. RunOrPost runs short work
  // on the calling thread if no other work runs or waits, and else does the
  // same as Post. All block while too much work waits. They return false if the
  // session is being closed; then the work does not run.
  bool Post(std::function<void(Resources&)> work);
  bool RunOrPost(std::function<void(Resources&)> work);
  bool Run(const std::function<void(Resources&)>& work);

  // Admits an Execute stream, and sends the output of kernels to its `results`
  // until ReturnExecute. Returns false if there is such a stream already.
  bool TakeExecute(std::shared_ptr<ResultQueue> results);
  // Must be called when an admitted Execute stream has ended.
  void ReturnExecute();

  // Adds to `results` the output of kernels that was kept while there was no
  // Execute stream.
  void TakeOutput(v1::ResultBatch* results);

 private:
  // Queues a batch of commands, or carries it out on the calling thread if
  // `own` is true. Returns false if the session is being closed.
  bool Carry(std::function<bool()> commands, size_t bytes, bool own,
             const std::function<bool()>& more);
  // Runs posted work. REQUIRES: it is the work's turn.
  void RunPosted(const std::function<void(Resources&)>& work);
  // Calls Options::usage_changed if the device memory in buffers has changed.
  void ReportUsage();
  // The steps of Quiesce: wait for the accepted work, then for the devices.
  absl::Status AwaitIdle(bool memory_stays, absl::Time deadline);
  absl::Status AwaitDevices(bool memory_stays, absl::Time deadline);

  const Options options_;
  // Held while a batch is queued, so that batches run in the order of their
  // numbers; may be held for as long as the queue is full.
  absl::Mutex submit_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // The last sequence number that was queued.
  uint64_t accepted_ ABSL_GUARDED_BY(submit_mutex_);
  std::atomic<uint64_t> arrived_;  // accepted_, to be read without the lock
  SessionGate gate_;

  absl::Mutex mutex_;
  uint64_t processed_ ABSL_GUARDED_BY(mutex_);  // the last that was run
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> paused_ = false;
  bool executing_ ABSL_GUARDED_BY(mutex_) = false;
  // Shared with threads that wake it and can outlive the session.
  const std::shared_ptr<SubmissionThread> thread_;
  std::unique_ptr<Resources> resources_;  // of the submission thread
  CommandProcessor processor_;            // likewise
  uint64_t reported_bytes_ = 0;           // likewise
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_H_
