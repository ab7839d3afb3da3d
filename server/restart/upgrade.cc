// SPDX-License-Identifier: Apache-2.0
#include "server/restart/upgrade.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// For messages to clients that are written already.
constexpr absl::Duration kLastWords = absl::Milliseconds(20);

// For the answer to the operator who has asked, whose connection may be slow.
constexpr absl::Duration kAnswerTime = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::string> DaemonUpgrade::Prepare(absl::Time deadline) {
  {
    absl::MutexLock lock(&mutex_);
    HOLDFAST_RETURN_IF_ERROR(refused_);
    if (preparing_ || prepared_) {
      return absl::FailedPreconditionError(
          "the daemon is being replaced already");
    }
    preparing_ = true;
  }
  absl::StatusOr<std::string> version = successor_.Check();
  if (version.ok()) {
    const absl::Status parked = sessions_.ParkAll(deadline);
    if (!parked.ok()) version = parked;
  }
  absl::Status refused;
  {
    absl::MutexLock lock(&mutex_);
    preparing_ = false;
    refused = refused_;
    prepared_ = version.ok() && refused.ok();
  }
  if (refused.ok() || !version.ok()) return version;
  sessions_.UnparkAll();
  return refused;
}

absl::StatusOr<std::string> DaemonUpgrade::PrepareForCall(absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string version, Prepare(deadline));
  absl::MutexLock lock(&mutex_);
  answered_ = false;
  return version;
}

void DaemonUpgrade::NoteAnswered() {
  absl::MutexLock lock(&mutex_);
  answered_ = true;
}

void DaemonUpgrade::Refuse(const absl::Status& reason) {
  bool parked = false;
  {
    absl::MutexLock lock(&mutex_);
    refused_ = reason;
    parked = std::exchange(prepared_, false);
  }
  if (parked) sessions_.UnparkAll();
}

absl::Status DaemonUpgrade::Execute(const std::function<void()>& end_children) {
  LogInfo("making way for ", successor_.binary());
  {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&answered_), kAnswerTime);
  }
  sessions_.TellRestart();
  absl::SleepFor(kLastWords);
  std::vector<KeptDescriptor> kept = store_.CopyAll();
  end_children();
  return successor_.Execute(std::move(kept));
}

}  // namespace holdfast
