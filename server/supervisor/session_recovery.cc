// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_recovery.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast::supervisor {
namespace {

// For an executor that is ready already.
constexpr absl::Duration kAtOnce = absl::Milliseconds(10);

}  // namespace

absl::StatusOr<SessionRecovery::Recovered> SessionRecovery::Run(
    std::unique_ptr<SessionHoldings> holdings, uint64_t epoch,
    uint64_t received_through, const Show& show, const LetGo& let_go) {
  absl::Status failure;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    HOLDFAST_ASSIGN_OR_RETURN(const std::shared_ptr<Executor> executor,
                              Take(attempt, let_go));
    if (!show(executor)) {
      return absl::CancelledError("the session is being closed");
    }
    executor->Inherit(std::move(holdings));
    auto recovered = Try(*executor, epoch, received_through);
    if (recovered.ok()) return recovered;
    failure = recovered.status();
    LogFor(options_.start.tenant->name(), LogLevel::kWarning, "session ",
           options_.start.assign.session_id(), " was not restored, attempt ",
           attempt, ": ", failure.message());
    holdings = executor->TakeHoldings();
    // Damage stays, whoever reads it.
    if (holdings == nullptr || absl::IsDataLoss(failure)) break;
  }
  return failure;
}

void SessionRecovery::NoteRecovered() const {
  if (options_.totals != nullptr) options_.totals->NoteRecovered();
  for (const auto& executions : options_.start.tenant->executions()) {
    executions->NoteRecovered();
  }
}

absl::StatusOr<std::shared_ptr<Executor>> SessionRecovery::Take(
    int attempt, const LetGo& let_go) {
  const auto& devices = options_.start.assign.devices();
  const std::vector<uint32_t> on(devices.begin(), devices.end());
  const Tenant& tenant = *options_.start.tenant;
  if (attempt == 1) {
    auto warm = options_.take(tenant, on, absl::Now() + kAtOnce);
    if (warm.ok()) return *std::move(warm);
  }
  let_go();
  return options_.take(tenant, on, absl::Now() + kRestoreLimit);
}

absl::StatusOr<SessionRecovery::Recovered> SessionRecovery::Try(
    Executor& executor, uint64_t epoch, uint64_t received_through) {
  Recovered recovered;
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd memory,
                            SharedBlocks::CreateMemory());
  HOLDFAST_ASSIGN_OR_RETURN(
      recovered.blocks,
      SharedBlocks::Map(memory.get(), SharedBlocks::End::kDaemon));
  SessionStart start = options_.start;
  start.assign.set_epoch(epoch);
  start.assign.set_received_through(received_through);
  start.calls = options_.calls.get();
  start.descriptors = options_.descriptors.get();
  start.blocks = memory.get();
  HOLDFAST_ASSIGN_OR_RETURN(recovered.serving,
                            executor.Serve(start, absl::Now() + kRestoreLimit));
  return recovered;
}

}  // namespace holdfast::supervisor
