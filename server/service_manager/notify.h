// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the address of the service manager's socket: $NOTIFY_SOCKET, or the
// one of SetServiceManager. "@name" is an abstract one; empty: there is none.
// Thread-safe.
std::string ServiceManagerAddress();

// Messages go to the socket of this address from now on, in the place of
// $NOTIFY_SOCKET, which other threads may be reading. Thread-safe.
void SetServiceManager(std::string address);

// Sends `state`, "READY=1" for instance, to the service manager as sd_notify(3)
// does, with a descriptor that it is to keep unless that is -1. Does nothing
// without a service manager. Returns false for a message that could not be sent
// within a second, which is lost. Thread-safe.
bool NotifyServiceManager(absl::string_view state, int fd = -1);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_
