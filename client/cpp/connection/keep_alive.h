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

// Holds the stream open that keeps a session alive. When this process dies the
// stream breaks, and the daemon frees the session. It has a connection of its
// own, so that no command waits behind its messages.
//
// A session with a grace outlives the stream for so long: when it breaks, it is
// opened again.
//
// A Session has one, from its opening or attaching to its end.
class KeepAlive {
 public:
  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;

  // `ended` is called at most once, from a thread of this object, when the
  // daemon ends the session or has been away for longer than `grace` and than
  // `restart`, which is set to what the daemon says; not after the destructor
  // has begun. `connect` is called for each stream, by that thread, and may
  // fail: it is tried again after 10 ms, then twice as long each time, up to a
  // second.
  KeepAlive(Connect connect, const std::string& token, absl::Duration grace,
            std::shared_ptr<RestartGrace> restart,
            std::function<void(const std::string& reason)> ended);
  // Ends the stream, which detaches the session. Waits for the thread.
  ~KeepAlive();

  // Blocks until the daemon has answered on a stream, from when on the session
  // lives by its grace and not by that of one that nobody has taken. Returns
  // false at the deadline.
  bool AwaitOpen(absl::Time deadline) const;

 private:
  // The thread's loop: one stream after the other.
  void Run();
  // One stream until it ends. OK: the session has ended, and was said to.
  absl::Status Hold();
  // Until the stream ends, which is when the daemon has gone. Also notes what
  // the daemon says of its restart.
  absl::Status Read(grpc::ClientContext& context,
                    const std::shared_ptr<grpc::Channel>& channel);
  // False: closing. Waits so long, or until the destructor.
  bool Pause(absl::Duration pause);

  const Connect connect_;
  const std::string token_;
  const absl::Duration grace_;
  const std::shared_ptr<RestartGrace> restart_;
  const std::function<void(const std::string&)> ended_;
  absl::Time lost_ = absl::InfinitePast();  // since when there is no stream
  mutable absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool opened_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_KEEP_ALIVE_H_
