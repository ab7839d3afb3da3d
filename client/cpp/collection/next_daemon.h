// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_

#include <functional>

#include "absl/time/time.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

// Blocks until the daemon is reached again after a call of many messages was
// cut off: it may be replaced by another one, in place. Returns false if none
// has come within `limit`, or if `cancelled`, which is asked from time to time,
// says so.
bool AwaitNextDaemon(
    Daemon& daemon, absl::Duration limit = absl::Seconds(20),
    const std::function<bool()>& cancelled = [] { return false; });

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_
