// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_LOG_LIMITER_H_
#define HOLDFAST_CORE_BASE_LOG_LIMITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast {

// Limits the lines, or bytes, of a log that each client causes, and that all
// clients cause together, so that no client can fill a disk. Thread-safe.
class LogLimiter {
 public:
  // The lines, or bytes, that are allowed at once, and then each second.
  struct Rate {
    double burst;
    double per_second;
  };
  // The two rates count in the same unit.
  LogLimiter(Rate per_client, Rate all) : per_client_(per_client), all_(all) {}

  // Returns nullopt if the line must be dropped; otherwise the number of this
  // client's lines that were dropped since its last line. `cost` is the line's
  // bytes if the rates are in bytes.
  std::optional<uint64_t> Admit(absl::string_view client, absl::Time now,
                                size_t cost = 1);

 private:
  // Beyond this number all clients are forgotten, because only clients that
  // change their names can be so many.
  static constexpr size_t kMaxClients = 4096;

  // The used part of an allowance, which decreases with time.
  struct Bucket {
    double used = 0;
    absl::Time since = absl::InfinitePast();
    uint64_t dropped = 0;
  };

  // Returns true if the cost fits. Does not charge it.
  static bool HasRoom(const Rate& rate, absl::Time now, double cost,
                      Bucket* bucket);

  const Rate per_client_;
  const Rate all_;
  absl::Mutex mutex_;
  Bucket sum_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Bucket> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_LOG_LIMITER_H_
