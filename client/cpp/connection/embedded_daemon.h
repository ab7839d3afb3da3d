// SPDX-License-Identifier: Apache-2.0
//
// A private daemon, for scripts and tests without set-up: `embedded:`.
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_EMBEDDED_DAEMON_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_EMBEDDED_DAEMON_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// Runs holdfastd on a Unix socket in its own temporary directory, as the child
// of a shell. The daemon stops when this object is destroyed, or when this
// process ends for any reason. The shell then removes the directory.
class EmbeddedDaemon {
 public:
  // Starts a daemon. The program is $HOLDFAST_DAEMON; else `holdfastd` beside
  // this executable, in the build tree, or in $PATH. Unless $CUDA_HOME is set,
  // the daemon uses the CUDA 13 that pip has installed beside holdfastd's
  // package, if there is one. `options` are flags of holdfastd: device,
  // log-level. Returns when the daemon serves. UNAVAILABLE: the daemon ended at
  // once (its stderr is this process's), or was not ready within 60 s.
  // NOT_FOUND: there is no program; the message names the places.
  static absl::StatusOr<std::unique_ptr<EmbeddedDaemon>> Start(
      const std::map<std::string, std::string>& options);

  EmbeddedDaemon(const EmbeddedDaemon&) = delete;
  EmbeddedDaemon& operator=(const EmbeddedDaemon&) = delete;
  // Blocks until the daemon has ended and its directory is removed.
  ~EmbeddedDaemon();

  // "unix:/tmp/.../holdfast.sock"
  const std::string& address() const { return address_; }

 private:
  EmbeddedDaemon(std::string address, pid_t keeper, UniqueFd lifeline);

  std::string address_;
  pid_t keeper_;       // the shell
  UniqueFd lifeline_;  // the daemon stops when its last copy is closed
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_EMBEDDED_DAEMON_H_
