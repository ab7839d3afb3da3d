// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/idle_suspension.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/steady_time.h"

namespace holdfast::supervisor {
namespace {

constexpr absl::Duration kShortestPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(10);

// An idle session's work has ended already.
constexpr absl::Duration kQuiesceTime = absl::Seconds(1);

// All that changes while a session does something; nullopt: it is in no state
// to be suspended, or has something to do.
std::optional<std::string> ActivityOf(const Session& session) {
  const v1::SessionInfo info = session.Info();
  const bool serves = info.state() == v1::SessionInfo::STATE_ACTIVE ||
                      info.state() == v1::SessionInfo::STATE_DETACHED;
  if (!serves || info.usage().outstanding_commands().used() > 0) {
    return std::nullopt;
  }
  const auto received = session.ReceivedThrough();
  if (!received.ok()) return std::nullopt;
  std::string activity = absl::StrCat(info.epoch(), " ", *received);
  for (const v1::CopyStatistics& copies : info.copies()) {
    absl::StrAppend(&activity, " ", copies.path(), ":", copies.copies(), ":",
                    copies.bytes());
  }
  for (const v1::DeviceTime& device : info.usage().gpu_time()) {
    absl::StrAppend(&activity, " ", device.device(), ":",
                    device.time().seconds(), ".", device.time().nanos());
  }
  return activity;
}

}  // namespace

void IdleSuspension::Start() {
  thread_ = std::thread([this] { Run(); });
}

IdleSuspension::~IdleSuspension() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void IdleSuspension::Run() {
  const absl::Duration pause =
      std::clamp(idle_ / 4, kShortestPause, kLongestPause);
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopped_), pause)) {
    mutex_.Unlock();
    Look(SteadyNow());
    mutex_.Lock();
  }
}

void IdleSuspension::Look(absl::Time now) {
  std::map<std::string, Seen> before = std::exchange(seen_, {});
  for (const std::shared_ptr<Session>& session : sessions_.List()) {
    std::optional<std::string> activity = ActivityOf(*session);
    if (!activity.has_value()) continue;
    Seen& seen = seen_[session->id()];
    seen = std::move(before[session->id()]);
    if (seen.activity != *activity) {
      seen = {.activity = *std::move(activity), .since = now};
    } else if (now - seen.since >= idle_) {
      seen.since = now;
      Suspend(*session, seen);
    }
  }
}

void IdleSuspension::Suspend(Session& session, Seen& seen) {
  const absl::Status status =
      session.Suspend("", absl::Now() + kQuiesceTime).status();
  if (status.ok() || std::exchange(seen.refusal_told, true)) return;
  LogFor(session.client(), LogLevel::kInfo, "session ", session.id(),
         " is idle and stays on its devices: ", status.message());
}

}  // namespace holdfast::supervisor
