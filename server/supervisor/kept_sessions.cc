// SPDX-License-Identifier: Apache-2.0
//
// The part of SessionRegistry by which sessions outlive the daemon.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/start_thread.h"
#include "server/kept/kept_name.h"
#include "server/supervisor/session_registry.h"

namespace holdfast::supervisor {
namespace {

// To open the gate of an executor that is there.
constexpr absl::Duration kUnparkTime = absl::Seconds(10);

}  // namespace

Session::Options SessionRegistry::OptionsOf(
    const internal::SessionRecord& record, SessionStart start,
    Sockets sockets) {
  const internal::Assign& assign = record.assign();
  const uint64_t number = SessionNumber(assign.session_id());
  internal::SessionRecord kept_record = record;
  kept_record.set_tenant(start.tenant->name());
  kept_record.set_code_owner(start.tenant->code_owner());
  if (!record.has_opened()) {
    kept_record.mutable_opened()->set_seconds(
        absl::ToUnixSeconds(options_.now()));
  }
  std::vector<DescriptorStore::Kept> kept;
  std::function<DescriptorStore::Kept(const internal::SessionRecord&)>
      keep_record;
  std::function<DescriptorStore::Kept()> keep_detached;
  if (options_.kept != nullptr) {
    DescriptorStore& store = *options_.kept;
    kept.push_back(store.KeepRecord({"session", {number}}, kept_record));
    keep_record = [&store, number](const internal::SessionRecord& changed) {
      return store.KeepRecord({"session", {number}}, changed);
    };
    if (record.detachable()) {
      keep_detached = [&store, number] {
        return store.KeepRecord({"detached", {number}}, internal::Resume());
      };
    }
    kept.push_back(store.Keep({"calls", {number}}, sockets.calls.get()));
    kept.push_back(
        store.Keep({"descriptors", {number}}, sockets.descriptors.get()));
  }
  const auto& grace = record.grace();
  return {
      .id = assign.session_id(),
      .token = assign.token(),
      .name = record.name(),
      .client_info = record.client(),
      .peer = record.peer(),
      .client = start.tenant->name(),
      .execution = start.execution,
      .grace =
          absl::Seconds(grace.seconds()) + absl::Nanoseconds(grace.nanos()),
      .detachable = record.detachable(),
      .devices = {assign.devices().begin(), assign.devices().end()},
      .socket_path = record.socket_path(),
      .descriptor_socket_path = record.descriptor_socket_path(),
      .limits = assign.limits(),
      .quota = record.has_quota() ? std::make_optional(record.quota())
                                  : std::nullopt,
      .kept = {.kept = std::move(kept),
               .record = std::move(kept_record),
               .keep = std::move(keep_record),
               .keep_detached = std::move(keep_detached)},
      .recover = record.recover(),
      .fault_limits = options_.fault_limits,
      .recovery = std::make_unique<SessionRecovery>(SessionRecovery::Options{
          .start = std::move(start),
          .calls = std::move(sockets.calls),
          .descriptors = std::move(sockets.descriptors),
          .take = options_.take,
          .find_places = options_.find_places,
          .totals = options_.totals}),
      .now = options_.now,
      .lease_time = options_.lease_time,
      .on_deadline_change = [this] {
        absl::MutexLock lock(&mutex_);
        ++deadline_changes_;
      }};
}

void SessionRegistry::Adopt(Adopted adopted) {
  const internal::SessionRecord& record = adopted.record;
  const uint64_t number = SessionNumber(record.assign().session_id());
  SessionStart start = {.assign = record.assign(),
                        .tenant = adopted.tenant,
                        .execution = std::make_shared<ExecutionTotals>()};
  start.assign.set_tenant(adopted.tenant->name());
  start.execution->Add(adopted.counters);
  auto session = std::make_shared<Session>(
      OptionsOf(record, std::move(start),
                {std::move(adopted.calls), std::move(adopted.descriptors)}),
      std::move(adopted.left));
  absl::MutexLock lock(&mutex_);
  sessions_[number] = std::move(session);
  last_id_ = std::max(last_id_, number);
  ++deadline_changes_;
}

void SessionRegistry::SkipNumbers(uint64_t through) {
  absl::MutexLock lock(&mutex_);
  last_id_ = std::max(last_id_, through);
}

absl::Status SessionRegistry::ParkAll(absl::Time deadline) {
  SetParking(true);
  {
    // Those that are being opened are parked with the others.
    absl::MutexLock lock(&mutex_);
    const auto opened = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return in_transit_ == 0;
    };
    if (!mutex_.AwaitWithDeadline(absl::Condition(&opened), deadline)) {
      parking_ = false;
      return absl::FailedPreconditionError(absl::StrCat(
          in_transit_, " sessions are still being opened or closed"));
    }
  }
  const auto sessions = List();
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
  SetParking(false);
  return absl::FailedPreconditionError(absl::StrJoin(refusals, "; "));
}

void SessionRegistry::UnparkAll() {
  for (const auto& session : List()) {
    session->Unpark(absl::Now() + kUnparkTime);
  }
  SetParking(false);
}

void SessionRegistry::SetParking(bool parking) {
  absl::MutexLock lock(&mutex_);
  parking_ = parking;
}

void SessionRegistry::Record(internal::CountersRecord* counters) const {
  auto& sessions = *counters->mutable_sessions();
  for (const auto& session : List()) {
    sessions[session->id()] = session->execution().Record();
  }
}

void SessionRegistry::TellRestart() {
  {
    absl::MutexLock lock(&mutex_);
    restarting_ = true;
  }
  for (const auto& session : List()) session->TellRestart();
}

}  // namespace holdfast::supervisor
