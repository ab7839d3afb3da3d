// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SERVICE_FD_RECEIVER_H_
#define HOLDFAST_SERVER_EXECUTOR_SERVICE_FD_RECEIVER_H_

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"

namespace holdfast::executor {

// Receives descriptors from clients on this machine. An rpc then names a
// descriptor by its token. transfers.proto describes the protocol. The input is
// hostile: a connection may send one message and is then closed; a message
// without the session's token is dropped; and over a limit the oldest
// connection or descriptor is closed. The caller of Claim must check the
// descriptor's kind of file. Thread-safe.
class FdReceiver {
 public:
  // The bytes of a descriptor's token.
  static constexpr size_t kTokenBytes = 16;
  // The most descriptors that wait for Claim: 16 for pipes and 8 for Execute
  // calls, which the daemon may make at once, and 8 for arenas.
  static constexpr size_t kMaxWaiting = 32;
  static constexpr size_t kMaxConnections = 32;  // without a message yet

  // Starts a thread that serves a socket of type SOCK_SEQPACKET, which listens
  // already. `session_token` is the token that each message must carry.
  static absl::StatusOr<std::unique_ptr<FdReceiver>> Serve(
      UniqueFd socket, std::string session_token);
  ~FdReceiver();
  FdReceiver(const FdReceiver&) = delete;
  FdReceiver& operator=(const FdReceiver&) = delete;

  // Removes and returns the descriptor with this token, without blocking.
  // NOT_FOUND: there is none.
  absl::StatusOr<UniqueFd> Claim(absl::string_view token);

 private:
  struct Item {
    std::string token;
    UniqueFd descriptor;
  };

  FdReceiver(UniqueFd socket, UniqueFd stop, std::string session_token);

  void Loop();
  void AcceptOne(std::deque<UniqueFd>& connections);
  // Reads the connection's message and answers it.
  void Answer(int connection);
  absl::Status Take(int connection);

  const UniqueFd socket_;
  const UniqueFd stop_;  // an eventfd
  const std::string session_token_;
  absl::Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SERVICE_FD_RECEIVER_H_
