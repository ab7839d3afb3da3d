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

// Shared by the executor's services: the one session, its resources, and the
// thread that owns them. Thread-safe.
class Session {
 public:
  struct Options {
    std::string token;  // 16 bytes
    ResourceOptions resources;
    ObjectFetcher fetch_object;
    // Where commands are counted.
    std::shared_ptr<CommandCounts> counts = std::make_shared<CommandCounts>();
    // Called on the submission thread when the device memory in buffers has
    // changed.
    std::function<void()> usage_changed;
    // Null: nothing is written down for a successor.
    std::shared_ptr<SessionJournal> journal;
    // The epoch that this executor serves; from 1.
    uint64_t epoch = 1;
    // Sequence numbers up to here are used up.
    uint64_t received_through = 0;
    // Takes the output of kernels; must outlive the session. Null: the output
    // is dropped.
    KernelOutput* output = nullptr;
    // Called with the peer of each call that carries the token; may be null.
    std::function<void(const std::string& peer)> authenticated;
  };

  explicit Session(Options options);
  // Waits for the devices and frees all.
  ~Session();

  // Drops what has not been processed; later work is refused.
  void Stop();

  // From Pause to Resume every call fails with ABORTED: the client has to
  // acknowledge the fault that ended the epoch before this one.
  void Pause();
  // Also opens the gate again after Quiesce.
  void Resume();

  // Where clients' work comes in: whoever submits commands or begins a transfer
  // holds a pass meanwhile.
  SessionGate& gate() { return gate_; }

  // Closes the gate and waits until all that has come in is done and the
  // devices are idle, for a suspension, or, if the memory is to stay where it
  // is, for another daemon. Returns the variables of its modules, as
  // SaveVariables does. If it fails the gate is open again.
  // DEADLINE_EXCEEDED: something is not done in time; the message names it.
  // FAILED_PRECONDITION: the session has what cannot be suspended.
  absl::StatusOr<UniqueFd> Quiesce(bool memory_stays, absl::Time deadline);
  // REQUIRES: quiesced.
  absl::Status SaveMemory(const internal::SaveMemory& chunks, int file);

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Does the call carry this session's token?
  absl::Status Authenticate(const grpc::ServerContextBase& context) const;

  // Checks the batch as a whole and queues it; `bytes` is what it takes in
  // memory, more or less. Its results go to `results`. Blocks while the session
  // has as many outstanding commands as it may have. INVALID_ARGUMENT: too many
  // commands, or numbers that do not increase. `clock`, which may be null, is
  // told when the first command begins. `encoded`, which may be null, has
  // commands of the batch as they came, and lives as long as that. `more`: has
  // something come behind the batch? As long as nothing has, this thread itself
  // carries out a short one. Null: it never does.
  absl::Status Submit(std::shared_ptr<const v1::CommandBatch> batch,
                      size_t bytes, std::shared_ptr<ResultQueue> results,
                      std::shared_ptr<ExecutorClock> clock = nullptr,
                      const EncodedCommands* encoded = nullptr,
                      const std::function<bool()>& more = nullptr);

  // Every command up to this sequence number has arrived. Does not block.
  uint64_t received_through() const { return arrived_; }

  // Waits until every command up to `sequence` has been processed. CANCELLED:
  // the call was cancelled; UNAVAILABLE: the session is being closed.
  absl::Status AwaitSequence(uint64_t sequence,
                             const std::stop_token& cancelled);

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
  // Has commands carried out, by the calling thread if that is `own`.
  bool Carry(std::function<bool()> commands, size_t bytes, bool own,
             const std::function<bool()>& more);
  void ReportUsage();
  absl::Status AwaitIdle(bool memory_stays, absl::Time deadline);
  absl::Status AwaitDevices(bool memory_stays, absl::Time deadline);

  const Options options_;
  // Held while a batch is queued, so that batches run in the order of their
  // numbers; may be held for as long as the queue is full.
  absl::Mutex submit_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // The last sequence number that was queued.
  uint64_t accepted_ ABSL_GUARDED_BY(submit_mutex_);
  std::atomic<uint64_t> arrived_;  // the same, read without the lock
  SessionGate gate_;

  absl::Mutex mutex_;
  uint64_t processed_ ABSL_GUARDED_BY(mutex_);  // the last that was run
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> paused_ = false;
  bool executing_ ABSL_GUARDED_BY(mutex_) = false;
  // Shared with those who wake it, who may outlive the session.
  const std::shared_ptr<SubmissionThread> thread_;
  std::unique_ptr<Resources> resources_;  // of the submission thread
  CommandProcessor processor_;            // likewise
  uint64_t reported_bytes_ = 0;           // likewise
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_H_
