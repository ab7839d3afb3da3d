// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/wait_hook.h"

#include "absl/time/time.h"

namespace holdfast {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(100);

thread_local WaitHook hook = nullptr;

}  // namespace

void SetWaitHook(WaitHook new_hook) { hook = new_hook; }

bool AwaitWithHook(const absl::Notification& done) {
  if (hook == nullptr) {
    done.WaitForNotification();
    return true;
  }
  while (!done.WaitForNotificationWithTimeout(kInterval)) {
    if (!hook()) return false;
  }
  return true;
}

}  // namespace holdfast
