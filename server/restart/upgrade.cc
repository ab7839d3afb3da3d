// SPDX-License-Identifier: Apache-2.0
#include "server/restart/upgrade.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/restart/processes_handover.h"

namespace holdfast {
namespace {

// For messages to clients that are written already.
constexpr absl::Duration kLastWords = absl::Milliseconds(20);

// Executors are started ahead for at most this time, and at most this part of
// the time in which the upgrade must be prepared: work needs the rest to end.
constexpr absl::Duration kAheadTime = absl::Seconds(20);
constexpr int kAheadPart = 2;

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
  absl::StatusOr<std::string> version = successor_.Check(addresses_);
  if (version.ok()) {
    const absl::Status ready = MakeReady(deadline);
    if (!ready.ok()) version = ready;
  }
  absl::Status refused;
  std::unique_ptr<SuccessorSpawner> ended;  // outside the lock
  {
    absl::MutexLock lock(&mutex_);
    preparing_ = false;
    refused = refused_;
    prepared_ = version.ok() && refused.ok();
    if (!prepared_) ended = std::move(ahead_);
  }
  if (refused.ok() || !version.ok()) return version;
  sessions_.UnparkAll();
  return refused;
}

absl::Status DaemonUpgrade::MakeReady(absl::Time deadline) {
  const absl::Duration left = deadline - absl::Now();
  auto ahead =
      start_ahead_(successor_.binary(),
                   absl::Now() + std::min(kAheadTime, left / kAheadPart));
  {
    absl::MutexLock lock(&mutex_);
    ahead_ = std::move(ahead);
  }
  return sessions_.ParkAll(deadline);
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
  std::unique_ptr<SuccessorSpawner> ended;  // outside the lock
  {
    absl::MutexLock lock(&mutex_);
    refused_ = reason;
    parked = std::exchange(prepared_, false);
    if (parked) ended = std::move(ahead_);
  }
  if (parked) sessions_.UnparkAll();
}

bool DaemonUpgrade::AllAhead() {
  const auto next = sessions_.NextExecutors();
  absl::MutexLock lock(&mutex_);
  return ahead_ != nullptr && next.shared == 0 &&
         ahead_->ready() >= next.devices.size();
}

absl::Status DaemonUpgrade::Execute(const EndChildren& end_children) {
  LogInfo("making way for ", successor_.binary());
  {
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&answered_), kAnswerTime);
  }
  const bool leave = AllAhead();
  sessions_.TellRestart();
  absl::SleepFor(kLastWords);
  std::vector<KeptDescriptor> kept = HandOver();
  LeavingSpawner leaving = end_children(leave);
  if (const auto pid = static_cast<uint64_t>(leaving.pid()); pid != 0) {
    auto descriptors = leaving.PassOn();
    kept.push_back({{"leaving", {pid}}, std::move(descriptors.channel)});
    for (UniqueFd& child : descriptors.children) {
      kept.push_back({{"left", {kept.size()}}, std::move(child)});
    }
  }
  return successor_.Execute(std::move(kept));
}

std::vector<KeptDescriptor> DaemonUpgrade::HandOver() {
  std::vector<KeptDescriptor> kept = store_.CopyAll();
  absl::MutexLock lock(&mutex_);
  if (ahead_ == nullptr) return kept;
  auto processes = NameProcesses(ahead_->HandOver());
  if (!processes.ok()) {
    LogWarning("the next daemon starts its executors itself: ",
               processes.status().message());
    return kept;
  }
  std::move(processes->begin(), processes->end(), std::back_inserter(kept));
  return kept;
}

}  // namespace holdfast
