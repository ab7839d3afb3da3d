// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_H_

#include <string>
#include <vector>

namespace holdfast {

// holdfastd --keeper: a service manager for one daemon, where systemd is not.
// Starts the daemon with `arguments` (the first is the program), keeps the
// descriptors that it hands over, as systemd's file descriptor store does, and
// starts it anew with these when a signal has killed it or it has failed.
// Passes SIGTERM, SIGINT, SIGHUP and SIGUSR2 on. Believes messages of the
// daemon's process alone. Returns the exit status: the daemon's, or 1 if it
// failed kMaxStarts times within kStartTime. The process cannot be traced or
// dumped: it has the descriptors of all sessions' memory.
//
// A daemon whose keeper has died starts another one, which adopts it: its own
// descriptors come as messages, and its end is seen by a pidfd.
//
// `ready_fd` is the descriptor of --ready-fd, or -1: the first daemon alone
// writes to it. Descriptors come to the next daemon by TakeListedDescriptors
// (descriptor_list.h), so that there may be many.
//
// REQUIRES: the process has one thread.
int RunKeeper(const std::vector<std::string>& arguments, int ready_fd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_H_
