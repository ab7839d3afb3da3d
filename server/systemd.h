// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SYSTEMD_H_
#define HOLDFAST_SERVER_SYSTEMD_H_

#include "absl/strings/string_view.h"

namespace holdfast {

// Tells the service manager, if one has started us with $NOTIFY_SOCKET, what
// sd_notify(3) would: "READY=1". Nothing is lost if it does not arrive.
void NotifySystemd(absl::string_view state);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SYSTEMD_H_
