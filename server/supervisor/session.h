// SPDX-License-Identifier: Apache-2.0
//
// One client's session: its secret, its executor, and how long it lives.
//
//   ACTIVE    at least one KeepAlive stream is open, or none was yet and the
//             session is younger than kFirstKeepAlive
//   DETACHED  none is open any more; ends after the client's reconnect_grace
//   LOST      the executor has died; kept for the sake of its error message
//   CLOSING   being taken down
#ifndef HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SESSION_H_

#include <grpcpp/channel.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/relay/shared_blocks.h"
#include "server/supervisor/executor.h"

namespace holdfast {

// Thread-safe.
class Session {
 public:
  static constexpr absl::Duration kFirstKeepAlive = absl::Seconds(30);
  // A lost session that no stream watches can tell why for so long.
  static constexpr absl::Duration kLostKept = absl::Minutes(1);
  // An executor that is asked to stop has so long before it is killed.
  static constexpr absl::Duration kStopTime = absl::Seconds(5);

  struct Options {
    std::string id;
    std::string token;  // 16 bytes
    std::string name;
    v1::ClientInfo client_info;
    std::string peer;
    std::string client;  // as PeerTable says: who pays for it
    absl::Duration grace;
    std::string socket_path;  // of the executor
    std::string descriptor_socket_path;
    std::shared_ptr<SharedBlocks> blocks;  // shared with the executor
    std::function<absl::Time()> now;
    std::function<void()> on_deadline_change;  // not called under a lock
  };

  Session(Options options, std::unique_ptr<Executor> executor);
  ~Session();

  const std::string& id() const { return options_.id; }
  const std::string& client() const { return options_.client; }
  std::string local_address() const { return "unix:" + options_.socket_path; }
  std::string descriptor_address() const {
    return "unix:" + options_.descriptor_socket_path;
  }
  // Asks the executor, which may take a moment.
  v1::SessionInfo Info() const;

  // In constant time.
  bool HasToken(absl::string_view token) const;

  // To the executor's own socket; connects when it is used first.
  std::shared_ptr<grpc::Channel> executor_channel() const { return channel_; }
  // The same for a call that carries many bytes: one of several connections,
  // another one each time, so that calls at once do not share a thread.
  std::shared_ptr<grpc::Channel> NextTransferChannel();

  // What the bytes of relayed calls go through.
  const std::shared_ptr<SharedBlocks>& blocks() const {
    return options_.blocks;
  }

  // OK, or why the session does not serve commands (ErrorDetail.session_lost).
  absl::Status Serving() const;
  // Like Serving, but waits, until the deadline, for the loss to be known: for
  // a caller whose call to the executor broke.
  absl::Status AwaitLoss(absl::Time deadline) const;

  // A KeepAlive stream opens and closes. `on_end` is called at most once, not
  // after RemoveKeeper has returned: with the reason when the session ends by
  // itself, with "" when the client closes it.
  using Keeper = std::function<void(const std::string& reason)>;
  int64_t AddKeeper(Keeper on_end);
  void RemoveKeeper(int64_t keeper);

  // When to close it, if nothing else happens.
  absl::Time deadline() const;

  // Stops the executor, kills it after `stop_time`, and waits for it. Later
  // calls wait for the first.
  void Close(const std::string& reason, absl::Duration stop_time = kStopTime);

 private:
  void OnExecutorEnd(const absl::Status& reason);
  void NotifyKeepers(const std::string& reason);

  const Options options_;
  const absl::Time opened_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<Executor> executor_;

  absl::Mutex transfer_mutex_;
  size_t transfers_ ABSL_GUARDED_BY(transfer_mutex_) = 0;
  std::array<std::shared_ptr<grpc::Channel>, 8> transfer_channels_
      ABSL_GUARDED_BY(transfer_mutex_);

  mutable absl::Mutex mutex_;
  v1::SessionInfo::State state_ ABSL_GUARDED_BY(mutex_) =
      v1::SessionInfo::STATE_ACTIVE;
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  absl::Time deadline_ ABSL_GUARDED_BY(mutex_);
  int64_t last_keeper_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t open_keepers_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Mutex close_mutex_;

  // Held while keepers are called.
  absl::Mutex keepers_mutex_;
  std::map<int64_t, Keeper> keepers_ ABSL_GUARDED_BY(keepers_mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SUPERVISOR_SESSION_H_
