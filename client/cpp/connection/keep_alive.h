// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_KEEP_ALIVE_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_KEEP_ALIVE_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/connection/restart_grace.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace holdfast {

// Holds open the stream that keeps a session alive. When this process dies, the
// stream breaks, and the daemon frees the session. The stream has its own
// connection, so that commands do not wait for its messages.
//
// A session with a reconnect_grace outlives the stream by this time. A broken
// stream is opened again.
//
// A Session has one KeepAlive, from its opening or attaching to its end.
class KeepAlive {
 public:
  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;

  // Starts a thread; RESOURCE_EXHAUSTED: the system allows none. The thread
  // calls `ended` at most once, when the daemon ends the session, or has not
  // answered for longer than both `grace` and `restart`. `ended` is not called
  // after the destructor has returned. The daemon's answers set `restart`. The
  // thread calls `connect` for each stream. After a failure it tries again
  // after 10 ms; each further pause is twice as long, up to a second.
  static absl::StatusOr<std::unique_ptr<KeepAlive>> Start(
      Connect connect, const std::string& token, absl::Duration grace,
      std::shared_ptr<RestartGrace> restart,
      std::function<void(const std::string& reason)> ended);
  // Ends the stream, which detaches the session. Blocks until the thread has
  // ended.
  ~KeepAlive();

  // Blocks until the daemon has answered on a stream. From then on the
  // session's own grace counts, instead of the time for its first stream.
  // Returns false at the deadline.
  bool AwaitOpen(absl::Time deadline) const;

 private:
  KeepAlive(Connect connect, const std::string& token, absl::Duration grace,
            std::shared_ptr<RestartGrace> restart,
            std::function<void(const std::string& reason)> ended);

  // The thread's loop: one stream after the other.
  void Run();
  // Holds one stream until it ends. OK: the session has ended, and `ended` was
  // called.
  absl::Status Hold();
  // Reads until the stream ends, and sets the RestartGrace from the answers.
  absl::Status Read(grpc::ClientContext& context,
                    const std::shared_ptr<grpc::Channel>& channel);
  // Waits for `pause`, or until the destructor runs. Returns false if the
  // destructor runs.
  bool Pause(absl::Duration pause);

  const Connect connect_;
  const std::string token_;
  const absl::Duration grace_;
  const std::shared_ptr<RestartGrace> restart_;
  const std::function<void(const std::string&)> ended_;
  absl::Time lost_ = absl::InfinitePast();  // the end of the last stream
  mutable absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_KEEP_ALIVE_H_
