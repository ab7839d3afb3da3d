// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
#define HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_

#include <sys/types.h>

#include <string>

namespace holdfast {

// Runs the spawner until `channel` (a descriptor) closes or the process
// `supervisor` ends. The spawner has one thread, and closes all other inherited
// descriptors. Its children execute `executable`; their standard output and
// error are pipes to the spawner (OutputRelay).
[[noreturn]] void RunSpawnerProcess(pid_t supervisor,
                                    const std::string& executable, int channel);

// Runs a spawner that was executed as a program of its own. The spawner ends
// only when `channel` closes, because the thread that has started it may end
// first.
[[noreturn]] void RunExecutedSpawner(const std::string& executable,
                                     int channel);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SPAWNER_PROCESS_H_
