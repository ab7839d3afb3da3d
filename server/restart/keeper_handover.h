// SPDX-License-Identifier: Apache-2.0
//
// Descriptors by which a daemon and its keeper know of each other, passed by
// the one to the other when it executes it:
//
//   keeper ── $HOLDFAST_KEEPER_PIDFD ──▶ daemon   the keeper's process
//   daemon ── $HOLDFAST_ADOPT ─────────▶ keeper   the daemon's process, and the
//                                                 socket for its messages
//
// The second way is that of a daemon whose keeper has died (keeper_watch.h).
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/unique_fd.h"
#include "server/restart/keeper_socket.h"

namespace holdfast {

// Returns a pidfd, close-on-exec; empty if the kernel has none for the process.
UniqueFd OpenProcess(pid_t pid);

// Has the program that this process executes next watch `keeper`, a pidfd.
// REQUIRES: the process has one thread, or executes the program next.
void PassKeeperOn(int keeper);

// Returns the keeper of this daemon; empty: none has started it, or it is one
// that does not say so. Unsets the variable.
// REQUIRES: the process has one thread; called once, before any child exists.
UniqueFd TakeKeeper();

// A daemon that runs already when its keeper starts.
struct AdoptedDaemon {
  pid_t pid = 0;
  UniqueFd process;  // a pidfd
  KeeperSocket socket;

  // The variable for the keeper's environment: "NAME=value". It has the
  // descriptors under their own numbers.
  std::string Variable() const;
};

// Returns the daemon that this keeper is to adopt, if there is one. Unsets the
// variable. REQUIRES: the process has one thread; called once.
std::optional<AdoptedDaemon> TakeAdoptedDaemon();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
