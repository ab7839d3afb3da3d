// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
#define HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_

#include <sys/types.h>

#include <string>

namespace holdfast {

// Runs the spawner until its channel (a descriptor) closes or the supervisor
// ends. The spawner has one thread, and closes all other inherited descriptors.
// The standard output and error of its children are pipes to it; see
// OutputRelay.
[[noreturn]] void RunSpawnerProcess(pid_t supervisor,
                                    const std::string& executable, int channel);

// Runs a spawner that was executed as its own program. It ends only when its
// channel closes, because the thread that has started it may end first.
[[noreturn]] void RunExecutedSpawner(const std::string& executable,
                                     int channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
