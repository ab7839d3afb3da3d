// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/hang_guard.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "server/journal/journal_reader.h"

namespace holdfast::supervisor {

HangGuard::HangGuard(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

HangGuard::~HangGuard() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

absl::Duration HangGuard::SinceLook() const {
  // Before its executor has begun the journal, there is none.
  const absl::StatusOr<uint64_t> looked =
      journal::ReadLooked(options_.journal.get());
  if (!looked.ok() || *looked == 0) return absl::ZeroDuration();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return absl::FromChrono(now) -
         absl::Nanoseconds(static_cast<int64_t>(*looked));
}

void HangGuard::Run() {
  while (true) {
    const absl::Duration since = SinceLook();
    if (since > options_.patience) return options_.alarm(since);
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), options_.period)) {
      return;
    }
  }
}

}  // namespace holdfast::supervisor
