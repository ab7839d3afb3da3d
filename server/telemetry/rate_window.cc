// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/rate_window.h"

namespace holdfast {

std::optional<RateWindow::Since> RateWindow::Look(const ExecutionCounts& counts,
                                                  absl::Time now) {
  absl::MutexLock lock(&mutex_);
  while (!seen_.empty() && now - seen_.front().time > kWindow) {
    seen_.pop_front();
  }
  std::optional<Since> since;
  if (!seen_.empty() && now > seen_.front().time) {
    since = Since{seen_.front().counts, now - seen_.front().time};
  }
  if (seen_.empty() || now - seen_.back().time >= kStep) {
    seen_.push_back({now, counts});
  }
  return since;
}

}  // namespace holdfast
