// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_RESTART_GRACE_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_RESTART_GRACE_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// The time for which a session waits for the next daemon after its daemon has
// ended. The daemon's first answer to KeepAlive sets it; 0 means that the
// session is lost with the daemon. Before that answer the time is a few
// seconds, because a killed daemon may have a successor. Thread-safe.
class RestartGrace {
 public:
  void Set(absl::Duration grace) { seconds_ = absl::ToInt64Seconds(grace); }
  // Notes an answer of the daemon that does not mention a successor.
  void SetNone() {
    int64_t unknown = kUnknown;
    seconds_.compare_exchange_strong(unknown, 0);
  }
  absl::Duration Get() const {
    const int64_t seconds = seconds_;
    return seconds == kUnknown ? kMoment : absl::Seconds(seconds);
  }

 private:
  static constexpr int64_t kUnknown = -1;
  static constexpr absl::Duration kMoment = absl::Seconds(5);

  std::atomic<int64_t> seconds_{kUnknown};
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_RESTART_GRACE_H_
