// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_limiter.h"

#include <algorithm>
#include <utility>

namespace holdfast {

bool LogLimiter::HasRoom(const Rate& rate, absl::Time now, double cost,
                         Bucket* bucket) {
  const double passed =
      std::max(0.0, absl::ToDoubleSeconds(now - bucket->since));
  bucket->used = std::max(0.0, bucket->used - passed * rate.per_second);
  bucket->since = now;
  return bucket->used + cost <= rate.burst;
}

std::optional<uint64_t> LogLimiter::Admit(absl::string_view client,
                                          absl::Time now, size_t cost) {
  absl::MutexLock lock(&mutex_);
  // So many clients are one that changes its name: none keeps what it has used.
  if (clients_.size() >= kMaxClients) clients_.clear();
  Bucket& own = clients_[client];
  const auto units = static_cast<double>(cost);
  const bool room = HasRoom(per_client_, now, units, &own);
  if (!HasRoom(all_, now, units, &sum_) || !room) {
    ++own.dropped;
    return std::nullopt;
  }
  own.used += units;
  sum_.used += units;
  return std::exchange(own.dropped, 0);
}

}  // namespace holdfast
