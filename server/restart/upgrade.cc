// SPDX-License-Identifier: Apache-2.0
#include "server/restart/upgrade.h"

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// For messages to clients that are written already.
constexpr absl::Duration kLastWords = absl::Milliseconds(20);

}  // namespace

absl::StatusOr<std::string> Upgrade::Prepare(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  if (prepared_) {
    return absl::FailedPreconditionError(
        "the daemon is being replaced already");
  }
  HOLDFAST_ASSIGN_OR_RETURN(std::string version, successor_.Check());
  HOLDFAST_RETURN_IF_ERROR(sessions_.ParkAll(deadline));
  prepared_ = true;
  return version;
}

absl::Status Upgrade::Execute(const std::function<void()>& end_children) {
  LogInfo("making way for ", successor_.binary());
  sessions_.TellRestart();
  absl::SleepFor(kLastWords);
  std::vector<KeptDescriptor> kept = store_.CopyAll();
  end_children();
  return successor_.Execute(std::move(kept));
}

}  // namespace holdfast
