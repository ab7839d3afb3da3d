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
#ifndef HOLDFAST_CLIENT_CPP_COMMAND_QUEUE_H_
#define HOLDFAST_CLIENT_CPP_COMMAND_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "client/cpp/command_batch.h"
#include "client/cpp/execute_stream.h"
#include "client/cpp/failure_log.h"
#include "client/cpp/wire_writer.h"
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
  absl::StatusOr<v1::Result> Wait() const;
  uint64_t sequence() const { return state_->sequence; }

 private:
  friend class CommandQueue;
  struct State {
    CommandQueue* queue = nullptr;
    uint64_t sequence = 0;
    absl::Notification done;
    absl::StatusOr<v1::Result> result;  // once done
  };
  explicit PendingResult(std::shared_ptr<State> state) : state_(state) {}

  std::shared_ptr<State> state_;
};

// Thread-safe; the commands of one thread keep their order.
class CommandQueue {
 public:
  struct Options {
    // A batch of this many commands or bytes goes out at once.
    uint32_t batch_commands = 1024;
    size_t batch_bytes = 64 << 10;
    // No command may be larger; INVALID_ARGUMENT.
    size_t max_command_bytes = 3 << 20;
    // How long a command that is not followed by others may wait.
    absl::Duration flush_delay = absl::Microseconds(100);
    // Takes what kernels print. Called with a lock held, by whichever thread
    // reads results: must not call the queue.
    std::function<void(const v1::KernelOutput&)> take_output;
    // Turns the end of the stream into what the user is told. May block.
    std::function<absl::Status(const absl::Status&)> explain_loss;
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

  // Of a command that makes a resource: FailureOf tells its failure until the
  // one that destroys it, or Forget.
  absl::StatusOr<uint64_t> SubmitCreation(Encode encode);
  void SubmitDestruction(Encode encode, uint64_t creation);

  // For commands that have a result. SubmitForResult does not flush.
  absl::StatusOr<PendingResult> SubmitForResult(Encode encode);
  absl::StatusOr<PendingResult> SubmitForResult(Fill fill);
  absl::StatusOr<v1::Result> Call(Encode encode);
  absl::StatusOr<v1::Result> Call(Fill fill);

  // Sends what was submitted so far; returns the last number.
  uint64_t Flush();

  // The first failure since the last call that nobody waited for, or why the
  // session is lost.
  absl::Status TakeFailure();
  absl::Status FailureOf(uint64_t sequence) const;
  void Forget(uint64_t sequence);

  // Fails everything that waits or comes from now on with `reason`. The first
  // reason stays.
  void Lose(const absl::Status& reason);

  // Ends the stream; what has not been sent is dropped, and everything that
  // waits or comes from now on is CANCELLED.
  void Close();

 private:
  friend class PendingResult;

  // Appends one command. `*full`: the batch should go out.
  absl::StatusOr<uint64_t> Append(Encode encode, bool* full)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadResults();
  // Reads and delivers one batch of results.
  ExecuteStream::Got ReadBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mutex_);
  // The same, if results have come and nobody is reading; does not wait.
  void ReadWhatHasCome();
  void Deliver(v1::Result result);
  void FlushLate();

  const Options options_;
  const std::shared_ptr<CommandBatchPool> pool_;
  ExecuteStream stream_;

  // Held while a batch is written, so that batches keep their order. Before
  // mutex_.
  absl::Mutex write_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  // Held while results are read, by whoever expects some.
  absl::Mutex read_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  mutable absl::Mutex mutex_;
  std::unique_ptr<CommandBatch> filling_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, std::shared_ptr<PendingResult::State>> pending_
      ABSL_GUARDED_BY(mutex_);
  FailureLog failures_ ABSL_GUARDED_BY(mutex_);
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

#endif  // HOLDFAST_CLIENT_CPP_COMMAND_QUEUE_H_
