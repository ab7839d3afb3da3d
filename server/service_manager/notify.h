// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_
#define HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the address of the service manager's socket: the address of
// SetServiceManager if it was called, else $NOTIFY_SOCKET. "@name" is an
// abstract address. Empty: there is no service manager. Thread-safe.
std::string ServiceManagerAddress();

// Sends later messages to this address instead of $NOTIFY_SOCKET. The variable
// itself is not changed, because other threads may be reading it. Thread-safe.
void SetServiceManager(std::string address);

// Sends `state`, such as "READY=1", to the service manager as sd_notify(3)
// does. If `fd` is not -1, sends a copy of it, too. Blocks for at most a
// second. Returns false if the message could not be sent within that time; it
// is then lost. Returns true, without an effect, if there is no service
// manager. Thread-safe.
bool NotifyServiceManager(absl::string_view state, int fd = -1);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICE_MANAGER_NOTIFY_H_
