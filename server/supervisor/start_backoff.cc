// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/start_backoff.h"

#include <algorithm>
#include <utility>

namespace holdfast::supervisor {
namespace {

// A process that makes a context holds the driver's lock for much of 200 ms.
// For so long after one was taken no other is started to wait in its place, so
// that the session that took it, or recovers in it, is not held up. Sessions
// beside it launch less meanwhile as well: where others wait still, there is
// more time.
constexpr absl::Duration kSettle = absl::Milliseconds(200);
constexpr absl::Duration kSettleBesideOthers = absl::Seconds(1);

}  // namespace

absl::Duration StartBackoff::NoteFailed(const absl::Status& reason,
                                        absl::Time now) {
  const absl::Duration pause =
      std::exchange(next_, std::min(next_ * 2, longest_));
  failure_ = reason;
  retry_ = now + pause;
  return pause;
}

void StartBackoff::NoteTaken(bool others_wait, absl::Time now) {
  lost_ = 0;
  settled_ = now + (others_wait ? kSettleBesideOthers : kSettle);
}

void StartBackoff::EndPauseAt(absl::Time now) {
  if (now >= retry_) EndPause();
}

}  // namespace holdfast::supervisor
