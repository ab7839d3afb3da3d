// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_
#define HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_

#include <functional>

#include "absl/time/time.h"
#include "client/cpp/connection/daemon.h"

namespace holdfast {

// Blocks until a daemon answers again, after a streaming call was cut off: the
// daemon may have been replaced. Returns false after `limit`, or when
// `cancelled`, which is called from time to time, returns true.
bool AwaitNextDaemon(
    Daemon& daemon, absl::Duration limit = absl::Seconds(20),
    const std::function<bool()>& cancelled = [] { return false; });

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COLLECTION_NEXT_DAEMON_H_
