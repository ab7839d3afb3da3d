// SPDX-License-Identifier: Apache-2.0
//
// Processes that a daemon has started for the next one, as named descriptors
// that pass by execve (inheritance.h) and to no service manager:
//
//   hf.processes     HandedProcesses: pids, users, arguments, devices
//   hf.spawner       the channel to the spawner
//   hf.process.N     the pidfd of child N
//   hf.channel.N     the channel to child N
#ifndef HOLDFAST_SERVER_RESTART_PROCESSES_HANDOVER_H_
#define HOLDFAST_SERVER_RESTART_PROCESSES_HANDOVER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "server/kept/descriptor_store.h"
#include "server/process/handed_processes.h"

namespace holdfast {

absl::StatusOr<std::vector<KeptDescriptor>> NameProcesses(
    HandedProcesses handed);

// Takes such descriptors out of `kept`. Leaves out a process if one of its
// descriptors is missing. The pid of the spawner is 0 if there is none.
HandedProcesses TakeProcesses(std::vector<KeptDescriptor>* kept);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_PROCESSES_HANDOVER_H_
