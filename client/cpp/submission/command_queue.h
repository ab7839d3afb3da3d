// SPDX-License-Identifier: Apache-2.0
//
// The way of a session's commands to its executor, and of their results back.
//
// A command is encoded straight into the bytes of the batch that is being
// filled, which execute_stream.h sends as they are. The batch goes out when a
// result is wanted, when it is large enough, or a moment after its first
// command; Submit waits only when the executor does not keep up. Results are
// matched by sequence number; failures of commands that nobody waits for are
// kept (failure_log.h) until TakeFailure.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/cpp/submission/command_batch.h"
#include "client/cpp/submission/execute_stream.h"
#include "client/cpp/submission/failure_log.h"
#include "client/cpp/submission/wire_writer.h"
#include "core/base/step_clock.h"
#include "grpcpp/channel.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

class CommandQueue;

// A result that is on its way. Copies wait for the same one.
class PendingResult {
 public:
  // The command's own failure, or UNAVAILABLE when the session is lost. Looks
  // for a moment before it sleeps, and reads what has come itself. The queue
  // must live.
  absl::StatusOr<v1::Result> Wait() const&;
  // The same for the last who waits: takes the result, instead of a copy.
  absl::StatusOr<v1::Result> Wait() &&;
  // Has it come, or will it never?
  bool IsDone() const { return state_->done.HasBeenNotified(); }
  uint64_t sequence() const { return state_->sequence; }

 private:
  friend class CommandQueue;
  struct State {
    CommandQueue* queue = nullptr;
    uint64_t sequence = 0;
    bool told_by_take_failure = false;
    absl::Notification done;
    absl::StatusOr<v1::Result> result;  // once done
  };
  explicit PendingResult(std::shared_ptr<State> state) : state_(state) {}
  void Await() const;

  std::shared_ptr<State> state_;
};

// Thread-safe; the commands of one thread keep their order.
class CommandQueue {
 public:
  // How a session goes on after a fault, or after it was suspended.
  struct Recovery {
    // The status that the user gets, once; from FaultStatus.
    absl::Status fault;
    // Commands after this one have not run.
    uint64_t submitted_through = 0;
    // It was only suspended: commands after that one are sent again, and the
    // user gets no status. `unsent`: batches of them that the queue has not, in
    // order.
    bool suspended = false;
    std::vector<std::string> unsent;
    // Where the new Execute stream goes, and its options.
    std::shared_ptr<grpc::ChannelInterface> channel;
    ExecuteStream::Options stream;
  };

  struct Options {
    // A batch of this many commands or bytes goes out at once.
    uint32_t batch_commands = 1024;
    size_t batch_bytes = 64 << 10;
    // No command may be larger; INVALID_ARGUMENT.
    size_t max_command_bytes = 3 << 20;
    // How long a command that is not followed by others may wait.
    absl::Duration flush_delay = absl::Microseconds(100);
    // Commands up to this number were another client's of the session. A
    // failure of theirs comes with a fence, and TakeFailure tells it.
    uint64_t received_through = 0;
    // Finds out whether the stream's end is a fault that the user is to decide
    // about (AwaitConsent); OK: it is not. May be null. May block.
    std::function<absl::Status(const absl::Status& ended)> ask;
    // Takes what kernels print. Called with a lock held, by whichever thread
    // reads results: must not call the queue.
    std::function<void(const v1::KernelOutput&)> take_output;
    // Takes when the steps of each command's way were taken, if the stream asks
    // for that. Called as `take_output`, before the command's result.
    std::function<void(const v1::StepTimes&)> take_times;
    // Finds out why the stream has ended, and how to go on; an error is what
    // the user is told of the session's loss. May block. Before it has a
    // suspended session resumed, it calls `await_work`, which blocks until
    // there is a command to send; false: there will be none.
    std::function<absl::StatusOr<Recovery>(
        const absl::Status&, absl::FunctionRef<bool()> await_work)>
        recover;
  };
  // Writes the fields of one v1::Command: those of the message object, or
  // directly, for the commands of which there are many. Called with a lock
  // held: must not call the queue.
  using Encode = absl::FunctionRef<void(WireWriter&)>;
  using Fill = absl::FunctionRef<void(v1::Command&)>;

  // As ExecuteStream's.
  CommandQueue(std::shared_ptr<grpc::ChannelInterface> channel,
               ExecuteStream::Options stream, Options options);
  ~CommandQueue();

  // Return the command's number; UNAVAILABLE once the session is lost.
  absl::StatusOr<uint64_t> Submit(Encode encode);
  absl::StatusOr<uint64_t> Submit(Fill fill);

  // Submits a command that makes a resource: FailureOf tells its failure until
  // the one that destroys it, or Forget.
  absl::StatusOr<uint64_t> SubmitCreation(Encode encode);
  // `send`: as Flush does, so that an end that takes the executor long begins
  // now and not with the next batch.
  void SubmitDestruction(Encode encode, uint64_t creation, bool send = false);

  // For commands that have a result. SubmitForResult does not flush.
  absl::StatusOr<PendingResult> SubmitForResult(Encode encode);
  absl::StatusOr<PendingResult> SubmitForResult(Fill fill);
  // For one whose result only says that it is done: as if it had none, its
  // failure is what TakeFailure tells.
  absl::StatusOr<PendingResult> SubmitUntilDone(Encode encode);
  // Takes a result that was submitted for, once it has come. Waits with the
  // thread's hook (wait_hook.h): CANCELLED if that gave up, and the result may
  // still come. REQUIRES: nobody else waits for it.
  absl::StatusOr<v1::Result> Await(PendingResult& result);
  absl::StatusOr<v1::Result> Call(Encode encode);
  absl::StatusOr<v1::Result> Call(Fill fill);
  // For a command that has none: waits until it was carried out, and returns
  // its own failure, which TakeFailure then does not tell.
  absl::Status CallWithoutResult(Fill fill);

  // Sends what was submitted so far; returns the last number.
  uint64_t Flush();

  // The first failure since the last call that nobody waited for, or why the
  // session is lost.
  absl::Status TakeFailure();
  // The failure of a creation; OK if none is known. TakeFailure does not tell
  // it again.
  absl::Status FailureOf(uint64_t sequence);
  void Forget(uint64_t sequence);

  // Counts the faults that the session has recovered from.
  uint64_t faults() const;
  // The same of suspensions.
  uint64_t suspensions() const;
  // The status for the user of another call of the session that failed with
  // `status`: the loss or the fault, if that was the cause and began after
  // `faults` faults.
  absl::Status Explain(const absl::Status& status, uint64_t faults);

  // The next command fails with this fault, of another client's commands.
  void SetFault(const absl::Status& fault);

  // With Options.ask: the session is to go on after the fault that calls have
  // failed with. Blocks until it does; returns why it does not.
  // FAILED_PRECONDITION: there is no such fault.
  absl::Status Consent();

  // Has the session resumed if it is suspended, and blocks until it is: for
  // what goes to its executor by another way than commands.
  void AwaitServing();

  // Fails everything that waits or comes from now on with `reason`. The first
  // reason stays.
  void Fail(const absl::Status& reason);

  // Ends the stream; what has not been sent is dropped, and everything that
  // waits or comes from now on is CANCELLED.
  void Close();

 private:
  friend class PendingResult;

  absl::StatusOr<PendingResult> SubmitPending(
      Encode encode, std::shared_ptr<PendingResult::State> state);
  // Appends one command. `*full`: the batch should go out.
  absl::StatusOr<uint64_t> Append(Encode encode, bool* full)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds what `write` writes, which is one command as it stands in a batch.
  template <typename Write>
  absl::StatusOr<uint64_t> AppendFrame(const Write& write, bool* full)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // As AppendFrame, for a command that ends something: it is sent again if a
  // fault drops it.
  template <typename Write>
  void AppendEnd(const Write& write, bool* full)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds an end again, as it stood in a batch, under a new number.
  void RepeatEnd(absl::string_view bytes, bool* full)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Asks for a result, so that it becomes known which ends were carried out.
  void AppendFence(bool* full) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a batch to a stream that is `ready`. Keeps it if that is not, or has
  // ended: see unsent_.
  void WriteOrKeep(bool ready, ExecuteStream& stream,
                   std::unique_ptr<CommandBatch> batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // The reading thread.
  void ReadResults();
  // Reads until the stream has ended; returns why.
  absl::Status ReadToEnd();
  // Reads and delivers one batch of results.
  ExecuteStream::ReadResult ReadBatch()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mutex_);
  // The same, if results have come and nobody is reading; does not wait.
  void PollResults();
  // Reads what comes until `done`, while that is soon; it may not be afterwards
  // (SpinThenSleep).
  void LookFor(const absl::Notification& done);
  // For the reading thread, which would only compete with callers that look:
  // naps while some do, and a while longer. Returns when there are results that
  // nobody looks for or reads, when the stream has ended, or when all has been
  // quiet.
  void LeaveToCallers(const ExecuteStream& stream);
  void Deliver(v1::Result result);
  // Keeps what a fence tells of another client's commands: it tells it once.
  void NoteEarlierFailure(const v1::FenceResult& fence)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands on when this process's own steps were taken.
  void TakeOwnTimes();
  // The late flusher: a thread.
  void FlushLate();
  // Is there anything that the late flusher should send?
  bool HasUnflushed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !filling_->empty() || (!unsent_.empty() && !suspended_);
  }

  // Recovery: command_queue_recovery.cc.

  // Goes on after a stream that has ended so, with another one. False: the
  // session is lost. Blocks.
  bool Recover(const absl::Status& ended);
  // The session is suspended: blocks until it is needed. False: it is lost.
  bool AwaitWork();
  // The session waits for the user's word on this fault: every call fails with
  // it until Consent. False: the session is lost.
  bool AwaitConsent(const absl::Status& fault);
  // Sends what was on its way again, and goes on.
  void GoOnSuspended(Recovery recovery);
  // Can that be done without a loss?
  bool IsWhole(const Recovery& recovery);
  // Writes those of unsent_. Returns false if the stream has ended.
  bool SendUnsent(ExecuteStream& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Drops what was on its way, and goes on with another stream.
  void GoOn(Recovery recovery);
  // Those of ends_ that the executor may not have carried out, which had begun
  // the commands up to `begun`. Nothing that uses their handles again may come
  // first.
  void SendEndsAgain(uint64_t begun, ExecuteStream& stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_, mutex_);
  // A caller is told of the fault.
  absl::Status TakeFault() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A caller is told `status`: a fault, or the failure of a creation, that was
  // untold until now.
  void NoteTold(const absl::Status& status);

  const Options options_;
  const std::shared_ptr<CommandBatchPool> pool_;
  StepClock<2> clock_;
  // Another one after a fault. Written with the locks below held.
  std::atomic<std::shared_ptr<ExecuteStream>> stream_;

  // Held while a batch is written, so that batches keep their order. Before
  // mutex_.
  absl::Mutex write_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  // Held while results are read, by whoever expects some.
  absl::Mutex read_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // The last that were read: their memory takes the next.
  v1::ResultBatch results_ ABSL_GUARDED_BY(read_mutex_);
  // Callers in LookFor, and how many there have been.
  std::atomic<uint32_t> looking_{0};
  std::atomic<uint32_t> looks_{0};
  std::atomic<uint32_t> reads_{0};  // of results, by any thread

  mutable absl::Mutex mutex_;
  std::unique_ptr<CommandBatch> filling_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<PendingResult::State>> pending_
      ABSL_GUARDED_BY(mutex_);
  FailureLog failures_ ABSL_GUARDED_BY(mutex_);
  // The last fault, and whether a caller has yet to be told.
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  bool fault_untold_ ABSL_GUARDED_BY(mutex_) = false;
  // The session waits for Consent, and has it.
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  bool consented_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t faults_ ABSL_GUARDED_BY(mutex_) = 0;
  // Commands that end something and may not have been carried out, as they
  // stand in a batch: sent again if a fault drops them.
  struct End {
    uint64_t sequence = 0;
    std::string bytes;
  };
  std::deque<End> ends_ ABSL_GUARDED_BY(mutex_);
  // The last command that was written to a stream.
  uint64_t written_through_ ABSL_GUARDED_BY(mutex_) = 0;
  // Batches that found their stream ended or the session suspended: sent if it
  // was suspended, dropped otherwise.
  std::vector<std::string> unsent_ ABSL_GUARDED_BY(mutex_);
  bool suspended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t suspensions_ ABSL_GUARDED_BY(mutex_) = 0;
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;  // by AwaitServing
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  // The late flusher sleeps until it is signalled; otherwise it looks by
  // itself every now and then.
  bool flusher_sleeps_ ABSL_GUARDED_BY(mutex_) = false;
  absl::CondVar flush_late_;

  std::thread reader_;
  std::thread late_flusher_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_COMMAND_QUEUE_H_
