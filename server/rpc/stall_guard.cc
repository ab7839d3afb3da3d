// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/stall_guard.h"

#include <iterator>

#include "core/base/steady_time.h"

namespace holdfast {

StallGuard::StallGuard(absl::Duration limit)
    : limit_(limit), thread_([this] { Run(); }) {}

StallGuard::~StallGuard() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

StallGuard::Watch::Watch(StallGuard& guard, grpc::ServerContextBase& context)
    : guard_(guard) {
  absl::MutexLock lock(&guard_.mutex_);
  auto& watched = guard_.watched_;
  auto place = watched.end();
  while (place != watched.begin() &&
         std::prev(place)->deadline == absl::InfiniteFuture()) {
    --place;
  }
  entry_ = watched.insert(place, {&context, SteadyNow() + guard_.limit_});
}

StallGuard::Watch::~Watch() {
  absl::MutexLock lock(&guard_.mutex_);
  guard_.watched_.erase(entry_);
}

void StallGuard::Run() {
  // Often enough: it only says how far a limit may be overstepped.
  const absl::Duration interval = limit_ / 4;
  const absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_), interval)) {
    const absl::Time now = SteadyNow();
    while (!watched_.empty() && watched_.front().deadline <= now) {
      watched_.front().context->TryCancel();
      watched_.front().deadline = absl::InfiniteFuture();
      watched_.splice(watched_.end(), watched_, watched_.begin());
    }
  }
}

}  // namespace holdfast
