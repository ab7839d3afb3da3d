// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_RESTART_GRACE_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_RESTART_GRACE_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// How long a session waits for the next daemon when its own is gone, as the
// daemon says by the first answer to KeepAlive; 0: the session is lost then. A
// daemon that is killed before it could say so may have another one behind it,
// so that a session waits for a moment then. Thread-safe.
class RestartGrace {
 public:
  void Set(absl::Duration grace) { seconds_ = absl::ToInt64Seconds(grace); }
  // The daemon has answered, and said nothing of a next one.
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
