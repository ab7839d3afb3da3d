// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_INHERITANCE_H_
#define HOLDFAST_SERVER_RESTART_INHERITANCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/restart/descriptor_store.h"
#include "server/service_manager/inherited_sockets.h"

namespace holdfast {

// All that this process has got from whoever executed it: the service manager,
// or the daemon before this one.
struct Inheritance {
  InheritedSockets sockets;         // that the service manager listens on
  std::vector<UniqueFd> listeners;  // that the daemon before listened on
  std::vector<KeptDescriptor> kept;
  UniqueFd keeper;  // a pidfd; empty: no keeper has started the daemon
};

// REQUIRES: the process has one thread; called once, before any child exists.
absl::StatusOr<Inheritance> TakeInheritance();

// Executes `binary` in this process, with what `kept` has. Returns why that
// failed, else never.
absl::Status ExecuteWith(const std::string& binary,
                         const std::vector<std::string>& arguments,
                         std::vector<KeptDescriptor> kept);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_INHERITANCE_H_
