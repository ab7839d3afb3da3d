// SPDX-License-Identifier: Apache-2.0
//
// Sends a session's commands to its executor, and receives their results.
//
// A command is encoded straight into the batch that is being filled, whose
// bytes execute_stream.h sends as they are. The batch is sent when a result is
// needed, when it is large enough, or a moment after its first command. Submit
// waits only if the executor does not keep up. Results are matched by sequence
// number. Failures of commands without a waiting caller are kept
// (failure_log.h) until TakeFailure. submitted_commands.h implements the parts
// that need no thread and no stream. It decides which commands are sent again
// after a suspension, and which commands a fault drops.
//
// Threads: any thread submits. A thread that waits reads results itself. The
// reading thread reads all other results, notices the end of the stream, and
// continues with another stream (Options.recover). Before it continues, it may
// have to wait: in a suspended session for a command to send, after a fault
// that Options.ask returns for Consent. The late flusher sends commands that no
// other thread sends.
//
// Locks: write_mutex_ is held while a batch is written, so that batches keep
// their order, and read_mutex_ while results are read. mutex_ guards the
// commands, and is taken last. A command belongs to one stream. The reading
// thread holds write_mutex_ and mutex_ while it replaces the stream, and
// decides in the same step which commands are sent again or dropped.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/cpp/submission/command_batch.h"
#include "client/cpp/submission/execute_stream.h"
#include "client/cpp/submission/late_flusher.h"
#include "client/cpp/submission/result_pollers.h"
#include "client/cpp/submission/result_slot.h"
#include "client/cpp/submission/submitted_commands.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/step_clock.h"
#include "grpcpp/channel.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

class CommandQueue;

// A result that has not arrived yet. Copies wait for the same result.
class PendingResult {
 public:
  // Blocks until the result is there, and returns it. Fails with the command's
  // own error, the session's fault, or UNAVAILABLE if the session is lost.
  // Spins for a moment before it sleeps, and reads arriving results itself.
  // REQUIRES: the queue is alive.
  absl::StatusOr<v1::Result> Wait() const&;
  // Waits, and moves the result out, unless another copy of this object shares
  // it.
  absl::StatusOr<v1::Result> Wait() &&;
  // Returns true if Wait() would not block.
  bool IsDone() const { return slot_->done.HasBeenNotified(); }
  uint64_t sequence() const { return slot_->sequence; }

 private:
  friend class CommandQueue;
  PendingResult(CommandQueue* queue, std::shared_ptr<ResultSlot> slot)
      : queue_(queue), slot_(std::move(slot)) {}
  void Await() const;

  CommandQueue* queue_;
  std::shared_ptr<ResultSlot> slot_;
};

// Thread-safe; the commands of one thread keep their order.
class CommandQueue {
 public:
  // The continuation of a session after a fault or a suspension.
  struct Recovery {
    // The status to report to the user, once; from FaultStatus.
    absl::Status fault;
    // The last command that has run.
    uint64_t submitted_through = 0;
    // The session was only suspended: commands after submitted_through are sent
    // again, and no status is reported. `unsent`: batches of such commands that
    // the queue does not hold, in order.
    bool suspended = false;
    std::vector<std::string> unsent;
    // The new Execute stream.
    std::unique_ptr<ExecuteStream> stream;
  };

  struct Options {
    // A batch of this many commands or bytes is sent at once.
    uint32_t batch_commands = 1024;
    size_t batch_bytes = 64 << 10;
    // The limit of one command; INVALID_ARGUMENT beyond it.
    size_t max_command_bytes = 3 << 20;
    // The longest that a command waits for others to join its batch.
    absl::Duration flush_delay = absl::Microseconds(100);
    // Submit blocks until the command's work is done, and returns its failure;
    // see Settle.
    bool blocking = false;
    // Commands up to this number were submitted by an earlier client of the
    // session. A fence reports their failure, which TakeFailure returns.
    uint64_t received_through = 0;
    // Returns OK, or the fault that the user must accept before recovery
    // (AwaitConsent). May be null. May block.
    std::function<absl::Status(const absl::Status& ended)> ask;
    // Receives the output of kernels. Called with a lock held, by the thread
    // that reads results: must not call the queue.
    std::function<void(const v1::KernelOutput&)> take_output;
    // Receives the step times of each command, if the stream has
    // Options.step_times. Called like `take_output`, before the command's
    // result.
    std::function<void(const v1::StepTimes&)> take_times;
    // Returns how to continue after the end of the stream, or the error that is
    // reported for the loss of the session. May block. Before it resumes a
    // suspended session, it calls `await_work`, which blocks until there is a
    // command to send; false: there will be none.
    std::function<absl::StatusOr<Recovery>(
        const absl::Status&, absl::FunctionRef<bool()> await_work)>
        recover;
  };
  // Functions that write the fields of one v1::Command. Encode writes bytes,
  // for frequent commands; Fill sets the fields of a message. Called with a
  // lock held: must not call the queue.
  using Encode = absl::FunctionRef<void(WireWriter&)>;
  using Fill = absl::FunctionRef<void(v1::Command&)>;

  // `channel` and `stream`: see ExecuteStream. RESOURCE_EXHAUSTED: the system
  // allows no more threads.
  static absl::StatusOr<std::unique_ptr<CommandQueue>> Create(
      std::shared_ptr<grpc::ChannelInterface> channel,
      ExecuteStream::Options stream, Options options);
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // Submit a command, and return its sequence number. Fail with UNAVAILABLE
  // once the session is lost, and with a fault that was not reported yet.
  absl::StatusOr<uint64_t> Submit(Encode encode);
  absl::StatusOr<uint64_t> Submit(Fill fill);

  // With Options.blocking, blocks until the work of all streams is done, and
  // returns its failure; else does nothing. Submit calls Settle; after
  // SubmitCreation the caller must call it.
  absl::Status Settle();

  // Submits a command that makes a resource. FailureOf returns its failure
  // until the command that destroys the resource, or Forget.
  absl::StatusOr<uint64_t> SubmitCreation(Encode encode);
  // Submits a command that destroys a resource. `creation` is the number of the
  // command that made it. `send`: also flushes, so that a destruction that
  // takes the executor long begins now instead of with the next batch.
  void SubmitDestruction(Encode encode, uint64_t creation, bool send = false);

  // Submit a command that has a result. Do not flush and do not wait.
  absl::StatusOr<PendingResult> SubmitForResult(Encode encode);
  absl::StatusOr<PendingResult> SubmitForResult(Fill fill);
  // Submits a command whose result only says that it is done. TakeFailure
  // returns its failure, as for a command without a result.
  absl::StatusOr<PendingResult> SubmitUntilDone(Encode encode);
  // Blocks until the result is there, and moves it out. Calls the thread's hook
  // (wait_hook.h) meanwhile; CANCELLED: the hook gave up, and the result may
  // still come. REQUIRES: no other thread waits for the result.
  absl::StatusOr<v1::Result> Await(PendingResult& result);
  // Submit a command, and block until its result is there, as Await does.
  absl::StatusOr<v1::Result> Call(Encode encode);
  absl::StatusOr<v1::Result> Call(Fill fill);
  // Submits a command without a result. Blocks until it was carried out, and
  // returns its own failure, which TakeFailure then does not return.
  absl::Status CallWithoutResult(Fill fill);

  // Sends all submitted commands; returns the last command's number.
  uint64_t Flush();

  // Returns the first failure, since the last call of TakeFailure, of a command
  // without a waiting caller; or the reason for the session's loss. Does not
  // wait.
  absl::Status TakeFailure();
  // Returns the failure of a creation, which TakeFailure then does not return
  // again; if no failure is known, the session's loss, or OK. Does not wait.
  absl::Status FailureOf(uint64_t sequence);
  // Drops the failure of a creation.
  void Forget(uint64_t sequence);

  // The number of faults that the session has recovered from.
  uint64_t faults() const;
  // The number of suspensions after which the session has continued.
  uint64_t suspensions() const;
  // Returns the status to report for another call of the session that failed
  // with `status`: the session's loss or fault if that is the cause and began
  // after `faults` faults, else `status`.
  absl::Status Explain(const absl::Status& status, uint64_t faults);

  // Makes the next call that submits or waits fail with this fault, which
  // commands of an earlier client have caused.
  void SetFault(const absl::Status& fault);

  // Accepts the fault that Options.ask returned. Blocks until the session has
  // recovered; returns the reason if the session is lost instead.
  // FAILED_PRECONDITION: there is no such fault.
  absl::Status Consent();

  // If the session is suspended, resumes it, and blocks until the session
  // serves again or is lost. Used before calls that reach the executor by other
  // means than commands.
  void AwaitServing();

  // Makes all present and later calls fail with `reason`. After several calls,
  // the first reason counts.
  void Fail(const absl::Status& reason);

  // Ends the stream and drops unsent commands. All present and later calls fail
  // with CANCELLED.
  void Close();

 private:
  friend class PendingResult;
  using Added = SubmittedCommands::Added;

  CommandQueue(std::shared_ptr<ExecuteStream> stream, Options options);
  absl::Status StartThreads();

  // Adds a command by calling `add` with commands_, and sends the batch if it
  // is full. Returns the command's number.
  template <typename Add>
  absl::StatusOr<uint64_t> Enqueue(const Add& add);
  absl::StatusOr<PendingResult> SubmitAwaited(Encode encode,
                                              std::shared_ptr<ResultSlot> slot);

  // Writes a batch to the stream, or keeps it if the stream is not `ready` or
  // has ended.
  void WriteOrKeep(bool ready, ExecuteStream& stream,
                   std::unique_ptr<CommandBatch> batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Writes the unsent batches. Returns false if the stream has ended.
  bool SendUnsent(ExecuteStream& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Returns the number for LateFlusher::Options::waiting.
  uint64_t Unflushed();

  // Reads and delivers one batch of results.
  ExecuteStream::ReadResult ReadBatch()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mutex_);
  // Reads and delivers a batch if results have arrived and no other thread
  // reads. Does not wait.
  void PollResults();
  // Reads results until `done`, but gives up when that takes too long.
  void LookFor(const absl::Notification& done);
  void Deliver(v1::Result result);
  // Passes this process's own step times to Options.take_times.
  void TakeOwnTimes();
  // Notes that `status`, a fault or the failure of a creation, was reported.
  void NoteTold(const absl::Status& status);

  // The reading thread.
  void ReadResults();
  // Reads until the stream has ended, and returns the reason.
  absl::Status ReadToEnd();
  // Continues with another stream after one that ended with `ended`. Blocks.
  // Returns false if the session is lost.
  bool Recover(const absl::Status& ended);
  // Blocks until the suspended session is needed. Returns false if it is lost.
  bool AwaitWork();
  // Blocks until the user accepts the fault (Consent); meanwhile every call
  // fails with it. Returns false if the session is lost.
  bool AwaitConsent(const absl::Status& fault);
  // Returns true if ResumeSuspended is possible: no command was lost.
  bool IsWhole(const Recovery& recovery);
  // Continue with the new stream: send again the commands that a suspension
  // interrupted, or drop all unfinished commands after a fault.
  void ResumeSuspended(Recovery recovery);
  void Resume(Recovery recovery);

  const Options options_;
  const std::shared_ptr<CommandBatchPool> pool_;
  StepClock<2> clock_;
  // Replaced with write_mutex_ and mutex_ held.
  std::atomic<std::shared_ptr<ExecuteStream>> stream_;

  absl::Mutex write_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  absl::Mutex read_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // The last results, whose memory is reused for the next.
  v1::ResultBatch results_ ABSL_GUARDED_BY(read_mutex_);
  ResultPollers pollers_;

  mutable absl::Mutex mutex_;
  SubmittedCommands commands_ ABSL_GUARDED_BY(mutex_);

  // Set before the queue is used.
  std::unique_ptr<LateFlusher> late_flusher_;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_
