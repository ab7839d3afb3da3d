// SPDX-License-Identifier: Apache-2.0
//
// Converts processes that a daemon has started for the next daemon to named
// descriptors, and back. The descriptors pass by execve (inheritance.h), and
// never to a service manager:
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

// Returns the named descriptors of the processes and their spawner. Returns an
// error if the memfd for the record cannot be made.
absl::StatusOr<std::vector<KeptDescriptor>> NameProcesses(
    HandedProcesses handed);

// Removes these descriptors from `kept`, and returns the processes. Drops a
// process if one of its descriptors is missing. Returns no processes, and 0 as
// the pid of the spawner, if the record or the spawner's channel is missing.
HandedProcesses TakeProcesses(std::vector<KeptDescriptor>* kept);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_PROCESSES_HANDOVER_H_
