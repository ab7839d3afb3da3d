// SPDX-License-Identifier: Apache-2.0
//
// Descriptors that a daemon and its keeper pass to each other when one executes
// the other:
//
//   keeper ── $HOLDFAST_KEEPER_PIDFD ──▶ daemon   the keeper's process
//   daemon ── $HOLDFAST_ADOPT ─────────▶ keeper   the daemon's process, and the
//                                                 socket for its messages
//
// A daemon whose keeper has died uses $HOLDFAST_ADOPT (keeper_watch.h).
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/unique_fd.h"
#include "server/restart/keeper_socket.h"

namespace holdfast {

// Returns a pidfd of the process, close-on-exec; empty, with errno set, if
// there is none.
UniqueFd OpenProcess(pid_t pid);

// Passes `keeper`, a pidfd, to the program that this process executes next,
// which gets it by TakeKeeper. Clears close-on-exec; the caller still owns it.
// REQUIRES: the process has one thread, or executes the program next.
void PassKeeperOn(int keeper);

// Returns a pidfd of this daemon's keeper; empty if the daemon has no keeper,
// or if a keeper of an older version has not passed its pidfd. Unsets the
// variable. REQUIRES: the process has one thread; called once, before any child
// exists.
UniqueFd TakeKeeper();

// A daemon that is running already when its keeper starts.
struct AdoptedDaemon {
  pid_t pid = 0;
  UniqueFd process;  // a pidfd
  KeeperSocket socket;

  // Returns the variable for the keeper's environment, "NAME=value", with the
  // pid and the numbers of the descriptors.
  std::string Variable() const;
};

// Returns the daemon that this keeper is to adopt; nullopt if there is none, or
// if the variable is malformed. Unsets the variable. REQUIRES: the process has
// one thread; called once.
std::optional<AdoptedDaemon> TakeAdoptedDaemon();

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_HANDOVER_H_
