// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that a daemon and its keeper pass to each other when one executes
// the other:
//
//   keeper ── $HOLDFAST_KEEPER_PIDFD ──▶ daemon   the keeper's process
//   daemon ── $HOLDFAST_ADOPT ─────────▶ keeper   the daemon's process, and the
//                                                 socket for its messages
//
// A daemon whose keeper has died uses the second (keeper_watch.h).
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/unique_fd.h"
#include "server/restart/keeper_socket.h"

namespace holdfast {

// Returns a pidfd, close-on-exec; empty if the kernel cannot make one.
UniqueFd OpenProcess(pid_t pid);

// Tells the program that this process executes next to watch `keeper`, a pidfd.
// REQUIRES: the process has one thread, or executes the program next.
void PassKeeperOn(int keeper);

// Returns the keeper of this daemon; empty if it has none, or if an older
// keeper has not passed its pidfd. Unsets the variable. REQUIRES: the process
// has one thread; called once, before any child exists.
UniqueFd TakeKeeper();

// A daemon that is running already when its keeper starts.
struct AdoptedDaemon {
  pid_t pid = 0;
  UniqueFd process;  // a pidfd
  KeeperSocket socket;

  // Returns the variable for the keeper's environment, "NAME=value", with the
  // numbers of the descriptors.
  std::string Variable() const;
};

// Returns the daemon that this keeper is to adopt, if there is one. Unsets the
// variable. REQUIRES: the process has one thread; called once.
std::optional<AdoptedDaemon> TakeAdoptedDaemon();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
