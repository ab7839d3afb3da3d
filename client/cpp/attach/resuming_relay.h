// SPDX-License-Identifier: Apache-2.0
//
// Carries a session's commands and results over a network that may break.
//
//   CommandQueue ══rings══ ResumingRelay ──Execute──▶ daemon   (breaks)
//                                        ──Execute──▶ daemon   (goes on)
//
// The queue uses rings of shared memory, as it does with a local executor, and
// does not notice a broken connection. The relay connects again, attaches to
// the session (AttachSession), and makes a new Execute call with the number of
// results that were read. The executor sends the results after these, and the
// number of its last received command; the relay sends all later commands
// again.
#ifndef HOLDFAST_CLIENT_CPP_ATTACH_RESUMING_RELAY_H_
#define HOLDFAST_CLIENT_CPP_ATTACH_RESUMING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/attach/unacknowledged.h"
#include "client/cpp/connection/message_poller.h"
#include "core/base/ring_pair.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/status.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Forwards the batches of commands that a CommandQueue writes to its rings, and
// the results that the executor sends, by two threads of its own. If the relay
// fails, it writes one last result, with sequence number 0 and the error.
// ExecuteStream ends with this error.
class ResumingRelay {
 public:
  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;

  struct Options {
    std::string session_token;  // 32 hexadecimal digits
    // The longest time without a connection.
    absl::Duration grace;
    Connect connect;  // makes a new connection
  };

  // Makes the first Execute call, on `channel`, and starts the threads. `rings`
  // is the other end of the queue's rings. RESOURCE_EXHAUSTED: the system
  // allows no more threads.
  static absl::StatusOr<std::unique_ptr<ResumingRelay>> Start(
      Options options, std::unique_ptr<RingPair> rings,
      std::shared_ptr<grpc::Channel> channel);
  // Stops the relay, and drops commands that have not arrived.
  ~ResumingRelay();
  // Cancels the call, and blocks until both threads have ended. Returns the
  // batches that may not have arrived, oldest first.
  std::deque<Unacknowledged::Batch> Stop();
  ResumingRelay(const ResumingRelay&) = delete;
  ResumingRelay& operator=(const ResumingRelay&) = delete;

 private:
  class Call;

  ResumingRelay(Options options, std::unique_ptr<RingPair> rings,
                std::shared_ptr<MessagePoller> poller);
  absl::Status StartThreads();

  // The two threads: commands out, results in.
  void SendCommands();
  void ReceiveResults();

  // Blocks while too many batches are not acknowledged.
  void AwaitRoom();
  // Keeps the batch until it is acknowledged. Writes it to the present call,
  // unless that call does not take commands yet.
  void Send(absl::string_view batch);
  // Reads the results of one call until its end, and returns its status. Sets
  // `*answered` if a message was read.
  grpc::Status Serve(const std::shared_ptr<Call>& call, bool* answered);
  void Deliver(v1::ResultBatch batch, const std::shared_ptr<Call>& call);
  // Notes the last command that has arrived. At the first report of a call,
  // sends all later commands again.
  void Acknowledge(uint64_t sequence, const std::shared_ptr<Call>& call);
  void Resend(const std::shared_ptr<Call>& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mutex_);
  // Connects to the daemon again, and attaches to the session.
  grpc::Status Reattach(std::shared_ptr<grpc::Channel>* channel);
  grpc::Status TryReattach(std::shared_ptr<grpc::Channel>* channel);
  std::shared_ptr<Call> Begin(std::shared_ptr<grpc::Channel> channel);
  // Waits for `pause`; returns early when the relay is stopped.
  void Pause(absl::Duration pause);
  void GiveUp(const grpc::Status& reason);

  const Options options_;
  const std::unique_ptr<RingPair> rings_;
  const std::shared_ptr<MessagePoller> poller_;  // of all calls
  std::atomic<bool> closing_{false};
  uint64_t results_read_ = 0;  // of the receiving thread

  // Held while a batch is written, so that batches keep their order on each
  // call. Before mutex_.
  absl::Mutex send_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Mutex mutex_;
  Unacknowledged unacknowledged_ ABSL_GUARDED_BY(mutex_);
  // The present call, and whether commands are written to it.
  std::shared_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);
  bool in_order_ ABSL_GUARDED_BY(mutex_) = false;
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread sender_;
  std::thread receiver_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ATTACH_RESUMING_RELAY_H_
