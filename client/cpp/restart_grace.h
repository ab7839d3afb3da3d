// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_RESTART_GRACE_H_
#define HOLDFAST_CLIENT_CPP_RESTART_GRACE_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace holdfast {

// How long a session waits for the next daemon when its own is gone, as the
// daemon has said; 0: it is lost then. Thread-safe.
class RestartGrace {
 public:
  void Set(absl::Duration grace) { seconds_ = absl::ToInt64Seconds(grace); }
  absl::Duration Get() const { return absl::Seconds(seconds_.load()); }

 private:
  std::atomic<int64_t> seconds_{0};
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_RESTART_GRACE_H_
