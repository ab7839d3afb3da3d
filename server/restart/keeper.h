// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_KEEPER_H_
#define HOLDFAST_SERVER_RESTART_KEEPER_H_

#include <string>
#include <vector>

namespace holdfast {

// Runs holdfastd --keeper: a service manager for one daemon, for machines
// without systemd. Starts the daemon with `arguments` (the first is the
// program), and stores the descriptors that the daemon sends, as systemd's file
// descriptor store does. After a crash or a failure of the daemon, starts it
// again with the stored descriptors. Forwards SIGTERM, SIGINT, SIGHUP and
// SIGUSR2. Accepts messages only from the daemon's process. Blocks until the
// daemon has ended for good. Returns the exit status for this process: the
// daemon's; 1 if the daemon has failed 5 times within 30 s, or could not be
// started. The process cannot be traced or dumped, because it holds the memory
// of all sessions.
//
// A daemon whose keeper has died starts a new keeper, which adopts the daemon:
// the daemon sends its descriptors again, and the keeper learns the daemon's
// end from a pidfd.
//
// `ready_fd` is the descriptor of --ready-fd, or -1; only the first daemon
// writes to it. A restarted daemon gets the stored descriptors by
// TakeListedDescriptors (descriptor_list.h), so their number is not limited by
// the size of an environment variable.
//
// REQUIRES: the process has one thread.
int RunKeeper(const std::vector<std::string>& arguments, int ready_fd);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_KEEPER_H_
