// SPDX-License-Identifier: Apache-2.0
#include "server/service_manager/watchdog.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/service_manager/notify.h"

namespace holdfast {
namespace {

// Returns the number in a variable of the environment, or 0.
int64_t NumberIn(const char* variable) {
  const char* text = std::getenv(variable);
  int64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : 0;
}

}  // namespace

absl::Duration Watchdog::Interval() {
  const int64_t process = NumberIn("WATCHDOG_PID");
  const int64_t limit = NumberIn("WATCHDOG_USEC");
  if (limit <= 0 || (process != 0 && process != getpid())) {
    return absl::InfiniteDuration();
  }
  return absl::Microseconds(limit) / 2;
}

Watchdog::Watchdog(absl::Duration interval, std::function<void()> probe)
    : interval_(interval), probe_(std::move(probe)) {
  if (interval_ < absl::InfiniteDuration()) {
    thread_ = std::thread([this] { Run(); });
  }
}

Watchdog::~Watchdog() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Run() {
  while (true) {
    probe_();
    NotifyServiceManager("WATCHDOG=1");
    absl::MutexLock lock(&mutex_);
    if (mutex_.AwaitWithTimeout(absl::Condition(&stop_), interval_)) return;
  }
}

}  // namespace holdfast
