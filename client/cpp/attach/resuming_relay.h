// SPDX-License-Identifier: Apache-2.0
//
// Carries a session's commands and results over a network that may break.
//
//   CommandQueue ══rings══ ResumingRelay ──Execute──▶ daemon   (breaks)
//                                        ──Execute──▶ daemon   (goes on)
//
// The queue talks through rings of shared memory as it does with an executor of
// its own machine, and notices nothing. When the connection breaks, the relay
// connects again, asks the daemon whether the session is still there
// (AttachSession), and makes a new Execute call that says how many results were
// read. The executor answers with the results behind these, and with how far
// commands had come; the relay sends those again that had not, and no others.
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
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/attach/unacknowledged.h"
#include "core/base/ring_pair.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/status.h"
#include "holdfast/v1/commands.pb.h"

namespace holdfast {

// Where it gives up, the last message is a result of number 0 with the status
// of the last call, and ExecuteStream ends with that.
class ResumingRelay {
 public:
  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;

  struct Options {
    std::string session_token;  // 32 hexadecimal digits
    // How long a connection may be away, at most.
    absl::Duration grace;
    Connect connect;  // a new connection each time
  };

  // `rings` is the other end of those that the queue has. `channel` is the
  // connection to begin with.
  ResumingRelay(Options options, std::unique_ptr<RingPair> rings,
                std::shared_ptr<grpc::Channel> channel);
  // Drops what is under way.
  ~ResumingRelay();
  // Ends the threads, and with them the reading of the rings. Returns the
  // batches that may not have arrived, oldest first.
  std::deque<Unacknowledged::Batch> Stop();
  ResumingRelay(const ResumingRelay&) = delete;
  ResumingRelay& operator=(const ResumingRelay&) = delete;

 private:
  class Call;

  // The two threads: commands out, results in.
  void SendCommands();
  void ReceiveResults();

  // Blocks while too many batches may not have arrived.
  void AwaitRoom();
  // Writes to the call, if there is one that is in order.
  void Send(absl::string_view batch);
  // Reads one call until its end, and returns why it ended. Sets `answered` if
  // anything was read.
  grpc::Status Serve(const std::shared_ptr<Call>& call, bool* answered);
  void Deliver(v1::ResultBatch batch, const std::shared_ptr<Call>& call);
  // The first time that a call tells how far commands have come, those behind
  // are sent again.
  void Acknowledge(uint64_t sequence, const std::shared_ptr<Call>& call);
  void Resend(const std::shared_ptr<Call>& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(send_mutex_);
  // A new connection to the daemon, which has the session.
  grpc::Status Reattach(std::shared_ptr<grpc::Channel>* channel);
  grpc::Status TryReattach(std::shared_ptr<grpc::Channel>* channel);
  std::shared_ptr<Call> Begin(std::shared_ptr<grpc::Channel> channel);
  // Ends early when the session is closed.
  void Pause(absl::Duration pause);
  void GiveUp(const grpc::Status& reason);

  const Options options_;
  const std::unique_ptr<RingPair> rings_;
  std::atomic<bool> closing_{false};
  uint64_t results_read_ = 0;  // of the receiving thread

  // Held while a batch is written, so that batches keep their order on each
  // call. Before mutex_.
  absl::Mutex send_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  absl::Mutex mutex_;
  Unacknowledged unacknowledged_ ABSL_GUARDED_BY(mutex_);
  // The call that is read, and whether commands are written to it.
  std::shared_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);
  bool in_order_ ABSL_GUARDED_BY(mutex_) = false;
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread sender_;
  std::thread receiver_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_ATTACH_RESUMING_RELAY_H_
