// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_INHERITANCE_H_
#define HOLDFAST_SERVER_RESTART_INHERITANCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/kept/descriptor_store.h"
#include "server/process/handed_processes.h"
#include "server/process/leaving_spawner.h"
#include "server/service_manager/inherited_sockets.h"

namespace holdfast {

// The descriptors that this process got from the process that executed it: the
// service manager, or the earlier daemon.
struct Inheritance {
  InheritedSockets sockets;               // of the service manager
  std::vector<KeptDescriptor> listeners;  // of the earlier daemon
  std::vector<KeptDescriptor> kept;       // all others
  UniqueFd keeper;            // a pidfd; empty: the daemon has no keeper
  HandedProcesses processes;  // started by the earlier daemon for this one
  LeavingSpawner leaving;     // the earlier daemon's spawner, which ends
};

// Takes the descriptors from the environment and sorts them. Ignores
// descriptors whose names are not of KeptName's form. Returns an error if a
// list of descriptors is malformed or a socket has no listening path. REQUIRES:
// the process has one thread; called once, before any child exists.
absl::StatusOr<Inheritance> TakeInheritance();

// Executes `binary` in this process with `arguments` (the first is the
// program), and passes `kept` to it. Returns only on an error.
absl::Status ExecuteWith(const std::string& binary,
                         const std::vector<std::string>& arguments,
                         std::vector<KeptDescriptor> kept);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_INHERITANCE_H_
