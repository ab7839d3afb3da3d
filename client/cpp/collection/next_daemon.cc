// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/next_daemon.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/steady_time.h"
#include "grpcpp/channel.h"

namespace holdfast {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(100);

}  // namespace

bool AwaitNextDaemon(Daemon& daemon, absl::Duration limit,
                     const std::function<bool()>& cancelled) {
  const absl::Time deadline = SteadyNow() + limit;
  // The call may have ended before its connection was seen to.
  absl::SleepFor(kLook);
  while (SteadyNow() < deadline && !cancelled()) {
    if (daemon.channel()->WaitForConnected(
            absl::ToChronoTime(absl::Now() + kLook))) {
      return true;
    }
  }
  return false;
}

}  // namespace holdfast
