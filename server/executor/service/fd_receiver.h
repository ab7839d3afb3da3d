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

// Receives descriptors from clients on this machine, which an rpc then names;
// transfers.proto describes the protocol. Its input is hostile: a connection
// says one thing and is closed, without the session's token nothing is kept,
// and neither connections nor descriptors pile up: the oldest goes. The
// claimant checks what kind of file a descriptor is. Thread-safe.
class FdReceiver {
 public:
  static constexpr size_t kTokenBytes = 16;
  static constexpr size_t kMaxWaiting = 8;       // descriptors
  static constexpr size_t kMaxConnections = 16;  // that have said nothing yet

  // Serves a socket of type SOCK_SEQPACKET that listens already.
  static absl::StatusOr<std::unique_ptr<FdReceiver>> Serve(
      UniqueFd socket, std::string session_token);
  ~FdReceiver();
  FdReceiver(const FdReceiver&) = delete;
  FdReceiver& operator=(const FdReceiver&) = delete;

  // The descriptor that came under this token. Once; NOT_FOUND: none did.
  absl::StatusOr<UniqueFd> Claim(absl::string_view token);

 private:
  struct Item {
    std::string token;
    UniqueFd descriptor;
  };

  FdReceiver(UniqueFd socket, UniqueFd stop, std::string session_token);

  void Loop();
  void AcceptOne(std::deque<UniqueFd>& connections);
  // Reads what there is and answers.
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
