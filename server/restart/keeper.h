// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_H_

#include <string>
#include <vector>

namespace holdfast {

// Runs holdfastd --keeper: a service manager for one daemon, for machines
// without systemd. Starts the daemon with `arguments` (the first is the
// program), stores the descriptors that it sends, like systemd's file
// descriptor store, and restarts it with them after a crash or a failure.
// Forwards SIGTERM, SIGINT, SIGHUP and SIGUSR2. Accepts messages only from the
// daemon's process. Returns the exit status: the daemon's, or 1 if the daemon
// failed kMaxStarts times within kStartTime. The process cannot be traced or
// dumped, because it holds the memory of all sessions.
//
// A daemon whose keeper has died starts a new keeper, which adopts it: the
// daemon sends its descriptors again, and a pidfd tells of its end.
//
// `ready_fd` is the descriptor of --ready-fd, or -1; only the first daemon
// writes to it. The next daemon gets the descriptors by TakeListedDescriptors
// (descriptor_list.h), so that there may be many.
//
// REQUIRES: the process has one thread.
int RunKeeper(const std::vector<std::string>& arguments, int ready_fd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_H_
