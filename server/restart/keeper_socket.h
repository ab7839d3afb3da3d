// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_SOCKET_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// The datagram socket on which a keeper receives its daemon's messages. The
// kernel adds the sender's process id to each message.
struct KeeperSocket {
  UniqueFd fd;
  std::string address;  // abstract, as $NOTIFY_SOCKET has it: "@00a2c"

  // Makes a socket at an address that the kernel chooses.
  static absl::StatusOr<KeeperSocket> Create();
  // Wraps a socket that another process has made with Create. INVALID_ARGUMENT:
  // `fd` is not a Unix socket with an address.
  static absl::StatusOr<KeeperSocket> Of(UniqueFd fd);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_SOCKET_H_
