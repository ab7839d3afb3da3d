// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
#define HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_

#include <sys/types.h>

#include <string>

namespace holdfast {

// Runs the spawner from its fork to its exit, which comes when the channel,
// given by its descriptor, closes or the supervisor ends. It has one thread,
// always, and closes every other descriptor that it inherited. Children write
// to it by pipes in place of standard output and error; see OutputRelay.
[[noreturn]] void RunSpawnerProcess(pid_t supervisor,
                                    const std::string& executable, int channel);

// The same in a process that was executed for it, by a thread of the supervisor
// that may end first: it ends only when the channel closes.
[[noreturn]] void RunExecutedSpawner(const std::string& executable,
                                     int channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
