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

// Limits the log that clients cause, so that no client can fill a disk. Counts
// either lines or bytes, for each client and for all clients together.
// Thread-safe.
class LogLimiter {
 public:
  // The number of lines or bytes that are allowed at once, and then each
  // second.
  struct Rate {
    double burst;
    double per_second;
  };
  // Both rates count lines, or both count bytes.
  LogLimiter(Rate per_client, Rate all) : per_client_(per_client), all_(all) {}

  // Decides whether `client` may write a line at the time `now`, and counts the
  // line. Returns nullopt if the line must be dropped; otherwise the number of
  // this client's lines that were dropped since its last admitted line. `cost`
  // is 1 if the rates count lines, and the size of the line if they count
  // bytes.
  std::optional<uint64_t> Admit(absl::string_view client, absl::Time now,
                                size_t cost = 1);

 private:
  // The number of clients at which the limiter forgets the use of all of them.
  // Only a client that changes its name can cause this many entries.
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
