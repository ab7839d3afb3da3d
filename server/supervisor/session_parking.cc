// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_parking.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/start_thread.h"

namespace holdfast::supervisor {
namespace {

// To open the gate of an executor that is there.
constexpr absl::Duration kUnparkTime = absl::Seconds(10);

}  // namespace

absl::Status ParkSessions(const std::vector<std::shared_ptr<Session>>& sessions,
                          absl::Time deadline) {
  std::vector<absl::Status> parked(sessions.size());
  std::vector<std::function<void()>> jobs;
  for (size_t i = 0; i < sessions.size(); ++i) {
    jobs.emplace_back([&, i] { parked[i] = sessions[i]->Park(deadline); });
  }
  RunSideBySide(std::move(jobs));
  std::vector<std::string> refusals;
  for (const absl::Status& status : parked) {
    if (!status.ok()) refusals.emplace_back(status.message());
  }
  if (refusals.empty()) return absl::OkStatus();
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (parked[i].ok()) sessions[i]->Unpark(absl::Now() + kUnparkTime);
  }
  return absl::FailedPreconditionError(absl::StrJoin(refusals, "; "));
}

void UnparkSessions(const std::vector<std::shared_ptr<Session>>& sessions) {
  for (const auto& session : sessions) {
    session->Unpark(absl::Now() + kUnparkTime);
  }
}

}  // namespace holdfast::supervisor
