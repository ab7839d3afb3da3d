// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_recovery.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"

namespace holdfast::supervisor {
namespace {

// For an executor that is ready already.
constexpr absl::Duration kAtOnce = absl::Milliseconds(10);

// A device on which no executor can be started keeps back those of others, too,
// until it is in quarantine or the pool's pause is over. How long that may
// take, and how often to look.
constexpr absl::Duration kOtherDevice = absl::Seconds(15);
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

// The successor of a suspended session's executor has brought all back.
absl::Status CheckComplete(const internal::Serving& serving) {
  if (serving.lost_count() == 0) return absl::OkStatus();
  if (serving.lost().empty()) {
    return absl::DataLossError("some of its resources could not be made again");
  }
  const v1::LostResource& lost = serving.lost(0);
  return absl::DataLossError(
      absl::StrCat("0x", absl::Hex(lost.handle()), ": ", lost.reason()));
}

}  // namespace

absl::StatusOr<internal::Serving> SessionRecovery::Run(
    std::unique_ptr<SessionHoldings> holdings, uint64_t epoch,
    uint64_t received_through, const Show& show, const EndOld& end_old) {
  absl::Status failure;
  absl::Duration patience = absl::ZeroDuration();
  const bool suspended = holdings->suspension().suspended();
  Places places = PlacesFor(*holdings);
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    GoToNext(*holdings, &places);
    const auto executor = Take(attempt, patience, end_old);
    if (!executor.ok()) {
      failure = executor.status();
      if (places.empty()) break;
      LogFor(options_.start.tenant->name(), LogLevel::kWarning, "session ",
             options_.start.assign.session_id(),
             " tries another device: ", failure.message());
      patience = kOtherDevice;
      continue;
    }
    if (!show(*executor)) {
      return absl::CancelledError("the session is being closed");
    }
    (*executor)->Inherit(std::move(holdings));
    auto recovered = Try(**executor, epoch, received_through);
    failure = recovered.status();
    if (failure.ok() && suspended) failure = CheckComplete(*recovered);
    if (failure.ok()) return recovered;
    LogFor(options_.start.tenant->name(), LogLevel::kWarning, "session ",
           options_.start.assign.session_id(), " was not restored, attempt ",
           attempt, ": ", failure.message());
    holdings = (*executor)->TakeHoldings();
    // One that serves, but not all, has device memory that the next may lack.
    if (recovered.ok()) (*executor)->Stop(absl::Now());
    if (holdings == nullptr) break;
    // Damage stays, whoever reads it; another device may have what this lacks.
    if (absl::IsDataLoss(failure) && places.empty()) break;
    if (!places.empty()) patience = kOtherDevice;
  }
  return failure;
}

absl::Status SessionRecovery::CheckPlace(uint32_t device,
                                         absl::Time deadline) const {
  const internal::Assign& assign = options_.start.assign;
  const std::vector<uint32_t> now = devices();
  absl::Status movable = CheckMovable(assign, *options_.start.tenant);
  if (movable.ok() && options_.find_places == nullptr) {
    movable = absl::FailedPreconditionError("no other device is known");
  }
  if (!movable.ok()) {
    return now == std::vector{device} ? absl::OkStatus() : movable;
  }
  return options_
      .find_places(
          *options_.start.tenant,
          {.named = assign.devices(0), .now = now.front(), .wanted = device},
          deadline)
      .status();
}

absl::Status SessionRecovery::Place(uint32_t device,
                                    SessionHoldings& holdings) {
  HOLDFAST_RETURN_IF_ERROR(holdings.PlaceOn(device));
  SetDevice(device, &options_.start.assign);
  return absl::OkStatus();
}

SessionRecovery::Places SessionRecovery::PlacesFor(
    const SessionHoldings& holdings) const {
  const internal::Assign& assign = options_.start.assign;
  const Tenant& tenant = *options_.start.tenant;
  if (!holdings.suspension().suspended() || options_.find_places == nullptr ||
      !CheckMovable(assign, tenant).ok()) {
    return {};
  }
  auto places = options_.find_places(
      tenant, {.named = assign.devices(0), .now = devices().front()},
      absl::Now() + kRestoreLimit);
  return places.ok() ? *std::move(places) : Places();
}

void SessionRecovery::GoToNext(SessionHoldings& holdings, Places* places) {
  while (!places->empty()) {
    const uint32_t device = places->front();
    places->erase(places->begin());
    const absl::Status placed = Place(device, holdings);
    if (placed.ok()) return;
    LogFor(options_.start.tenant->name(), LogLevel::kWarning, "session ",
           options_.start.assign.session_id(), " cannot be on device ", device,
           ": ", placed.message());
  }
}

void SessionRecovery::CloseSockets() {
  options_.calls.Reset();
  options_.descriptors.Reset();
}

void SessionRecovery::NoteRecovered() const {
  if (options_.totals != nullptr) options_.totals->NoteRecovered();
  for (const auto& executions : options_.start.tenant->executions()) {
    executions->NoteRecovered();
  }
}

absl::StatusOr<std::shared_ptr<Executor>> SessionRecovery::Take(
    int attempt, absl::Duration patience, const EndOld& end_old) {
  const std::vector<uint32_t> on = devices();
  const Tenant& tenant = *options_.start.tenant;
  if (attempt == 1) {
    auto warm = options_.take(tenant, on, absl::Now() + kAtOnce);
    if (warm.ok()) return *std::move(warm);
  }
  end_old();
  const absl::Time limit = absl::Now() + kRestoreLimit;
  const absl::Time began = SteadyNow();
  auto executor = options_.take(tenant, on, limit);
  while (absl::IsUnavailable(executor.status()) &&
         SteadyNow() - began < patience) {
    absl::SleepFor(kLookAgain);
    executor = options_.take(tenant, on, limit);
  }
  return executor;
}

absl::StatusOr<internal::Serving> SessionRecovery::Try(
    Executor& executor, uint64_t epoch, uint64_t received_through) {
  SessionStart start = options_.start;
  start.assign.set_epoch(epoch);
  start.assign.set_received_through(received_through);
  start.calls = options_.calls.get();
  start.descriptors = options_.descriptors.get();
  return executor.Serve(start, absl::Now() + kRestoreLimit);
}

}  // namespace holdfast::supervisor
