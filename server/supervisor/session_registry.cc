// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_registry.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/log_scope.h"
#include "core/base/start_thread.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/token.h"
#include "core/base/unique_fd.h"
#include "core/base/wake_on_stop.h"
#include "server/kept/kept_name.h"
#include "server/rpc/unix_socket.h"
#include "server/supervisor/session_parking.h"

namespace holdfast::supervisor {
namespace {

constexpr size_t kTokenBytes = 16;

// Executors that are tried for one session.
constexpr int kMaxStarts = 3;

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::ToInt64Seconds(duration));
  proto.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(duration % absl::Seconds(1))));
  return proto;
}

}  // namespace

SessionRegistry::SessionRegistry(Options options)
    : options_(std::move(options)) {}

SessionRegistry::~SessionRegistry() { CloseAll("the daemon is stopping"); }

absl::StatusOr<SessionRegistry::Opened> SessionRegistry::Open(
    const v1::OpenSessionRequest& request, const Caller& caller,
    absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(CheckRequest(request));
  HOLDFAST_RETURN_IF_ERROR(
      LifetimeOf(request, options_.detached_limit).status());
  HOLDFAST_RETURN_IF_ERROR(Enter(caller, deadline));
  CloseLostForRoom();
  absl::StatusOr<Opened> opened =
      StartWithAnyExecutor(request, caller, deadline);
  if (!opened.ok()) {
    LogFor(caller.client(), LogLevel::kWarning, "no session", LabelOf(request),
           " from ", caller.peer, ": ", opened.status().message());
  }
  NotifyIfEmpty();
  return opened;
}

absl::Status SessionRegistry::Enter(const Caller& caller, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto decided = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return admission_.decided();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&decided), deadline);
  HOLDFAST_RETURN_IF_ERROR(admission_.Check());
  size_t open = admission_.in_transit();
  size_t own = admission_.in_transit_of(caller.client());
  for (const auto& [number, session] : sessions_) {
    if (session->lost()) continue;
    ++open;
    if (session->client() == caller.client()) ++own;
  }
  HOLDFAST_RETURN_IF_ERROR(caller.tenant->CheckMayOpen(own));
  if (open >= options_.max_sessions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(open, " sessions are open, the limit is ",
                     options_.max_sessions, " (--max-sessions)"));
  }
  const size_t limit = options_.max_sessions_per_client > 0
                           ? options_.max_sessions_per_client
                           : options_.max_sessions - open;
  if (!caller.is_operator() && own >= limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat(own, " sessions of this client (", caller.client(),
                     ") are open, its limit is now ", limit,
                     " (--max-sessions-per-client)"));
  }
  admission_.Enter(caller.client());
  return absl::OkStatus();
}

void SessionRegistry::CloseLostForRoom() {
  while (true) {
    std::shared_ptr<Session> victim;
    {
      absl::MutexLock lock(&mutex_);
      if (Count() <= options_.max_sessions) return;
      std::map<std::string, std::vector<std::shared_ptr<Session>>> lost;
      for (const auto& [number, session] : sessions_) {
        if (session->lost()) lost[session->client()].push_back(session);
      }
      const auto most = std::max_element(
          lost.begin(), lost.end(), [](const auto& a, const auto& b) {
            return a.second.size() < b.second.size();
          });
      if (most == lost.end()) return;
      victim = most->second.front();
    }
    Close(*victim, "its place is needed, after it was lost");
  }
}

// The executor can make no socket itself. The files are removed with the
// session, or here.
absl::StatusOr<SessionRegistry::Sockets> SessionRegistry::ServeOnSockets(
    Executor& executor, SessionStart start, const std::string& path,
    const std::string& descriptor_path, absl::Time deadline) {
  auto remove = absl::MakeCleanup([&] {
    unlink(path.c_str());
    unlink(descriptor_path.c_str());
  });
  // A daemon that was replaced while it opened a session of this name has left
  // them.
  unlink(path.c_str());
  unlink(descriptor_path.c_str());
  Sockets sockets;
  HOLDFAST_ASSIGN_OR_RETURN(
      sockets.calls,
      ListenOnUnixSocket(path, SOCK_STREAM, options_.socket_mode));
  HOLDFAST_ASSIGN_OR_RETURN(sockets.descriptors,
                            ListenOnUnixSocket(descriptor_path, SOCK_SEQPACKET,
                                               options_.socket_mode));
  start.calls = sockets.calls.get();
  start.descriptors = sockets.descriptors.get();
  HOLDFAST_RETURN_IF_ERROR(executor.Serve(start, deadline).status());
  std::move(remove).Cancel();
  return sockets;
}

absl::StatusOr<SessionRegistry::Opened> SessionRegistry::StartWithAnyExecutor(
    const v1::OpenSessionRequest& request, const Caller& caller,
    absl::Time deadline) {
  const auto started = absl::MakeCleanup([this, &caller] {
    absl::MutexLock lock(&mutex_);
    admission_.Leave(caller.client());
  });
  const absl::Time end = SteadyNow() + (deadline - absl::Now());
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<Opened> opened = Start(request, caller, deadline);
    if (!absl::IsDeadlineExceeded(opened.status()) || SteadyNow() >= end ||
        attempt == kMaxStarts) {
      return opened;
    }
    LogFor(caller.client(), LogLevel::kWarning,
           "killed an executor and take the next: ", opened.status().message());
  }
}

absl::StatusOr<SessionRegistry::Opened> SessionRegistry::Start(
    const v1::OpenSessionRequest& request, const Caller& caller,
    absl::Time deadline) {
  internal::Assign assign;
  HOLDFAST_RETURN_IF_ERROR(SetKernelTimeLimit(
      request, *caller.tenant, options_.kernel_time_limit, &assign));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, RandomToken(kTokenBytes));
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::vector<uint32_t> devices,
      options_.choose_devices(request, *caller.tenant, deadline));
  HOLDFAST_ASSIGN_OR_RETURN(auto executor,
                            options_.take(*caller.tenant, devices, deadline));
  uint64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = ++last_id_;
  }
  const std::string id = absl::StrCat("s-", number);
  const std::string path =
      absl::StrCat(options_.socket_directory, "/", id, ".sock");
  assign.set_session_id(id);
  assign.set_tenant(caller.client());
  assign.set_trace_id(LogScope::Current().trace_id);
  assign.set_stream_priorities(caller.tenant->stream_priorities());
  assign.set_no_foreign_exports(!caller.tenant->foreign_exports());
  assign.set_token(token);
  const std::string descriptor_path =
      absl::StrCat(options_.socket_directory, "/", id, ".fds");
  assign.mutable_devices()->Add(devices.begin(), devices.end());
  *assign.mutable_limits() = LimitsOf(request, options_.quotas, *caller.tenant);
  assign.set_epoch(1);
  const SessionStart start = {.assign = assign,
                              .tenant = caller.tenant,
                              .execution = std::make_shared<ExecutionTotals>()};
  HOLDFAST_ASSIGN_OR_RETURN(
      Sockets sockets,
      ServeOnSockets(*executor, start, path, descriptor_path,
                     std::min(deadline, absl::Now() + kServeLimit)));
  const LogScope scope({.session = id, .tenant = caller.client()});
  LogFor(caller.client(), LogLevel::kInfo, "session ", id, " opened",
         LabelOf(request), " from ", caller.peer, ", executor pid ",
         executor->pid());
  internal::SessionRecord record;
  *record.mutable_assign() = assign;
  record.set_name(request.name());
  *record.mutable_client() = request.client();
  record.set_peer(caller.peer);
  *record.mutable_grace() =
      ToProto(*LifetimeOf(request, options_.detached_limit));
  record.set_detachable(IsDetachable(request));
  record.set_recover(PolicyOf(request));
  record.set_socket_path(path);
  record.set_descriptor_socket_path(descriptor_path);
  const auto session = std::make_shared<Session>(
      OptionsOf(record, start, std::move(sockets)), std::move(executor));
  absl::MutexLock lock(&mutex_);
  sessions_[number] = session;
  ++deadline_changes_;
  return Opened{session, token, devices};
}

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

absl::StatusOr<std::shared_ptr<Session>> SessionRegistry::Find(
    absl::string_view token) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, session] : sessions_) {
    if (session->HasToken(token)) return session;
  }
  return absl::NotFoundError(
      "the token names no session of this daemon; the session has been closed "
      "or has expired");
}

absl::StatusOr<std::shared_ptr<Session>> SessionRegistry::FindById(
    absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, session] : sessions_) {
    if (session->id() == id) return session;
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no session ", absl::CEscape(id.substr(0, kMaxSessionName))));
}

std::shared_ptr<Session> SessionRegistry::TakeOut(const Session& session) {
  absl::MutexLock lock(&mutex_);
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (it->second.get() != &session) continue;
    std::shared_ptr<Session> taken = std::move(it->second);
    sessions_.erase(it);
    // Still holds its executor, until it is closed.
    admission_.Enter(taken->client());
    return taken;
  }
  return nullptr;
}

void SessionRegistry::Close(const Session& session, const std::string& reason,
                            absl::Duration stop_time) {
  const std::shared_ptr<Session> taken = TakeOut(session);
  if (taken == nullptr) return;
  taken->Close(reason, stop_time);
  {
    absl::MutexLock lock(&mutex_);
    admission_.Leave(taken->client());
  }
  NotifyIfEmpty();
}

void SessionRegistry::CloseAll(const std::string& reason,
                               absl::Duration stop_time) {
  for (const auto& session : List()) Close(*session, reason, stop_time);
}

void SessionRegistry::CloseAllOf(const Tenant& tenant,
                                 const std::string& reason) {
  while (true) {
    std::vector<std::function<void()>> closing;
    for (const auto& session : List()) {
      if (session->client() != tenant.name()) continue;
      // Each may take as long as its executor needs to stop.
      closing.emplace_back(
          [this, session, &reason] { Close(*session, reason); });
    }
    RunSideBySide(std::move(closing));
    absl::MutexLock lock(&mutex_);
    const auto settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return admission_.in_transit_of(tenant.name()) == 0;
    };
    mutex_.Await(absl::Condition(&settled));
    const auto is_left = [&](const auto& entry) {
      return entry.second->client() == tenant.name();
    };
    if (std::none_of(sessions_.begin(), sessions_.end(), is_left)) return;
  }
}

std::vector<std::shared_ptr<Session>> SessionRegistry::List() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Session>> list;
  for (const auto& [number, session] : sessions_) list.push_back(session);
  return list;
}

absl::Status SessionRegistry::ParkAll(absl::Time deadline) {
  absl::Status parked = AwaitParkable(deadline);
  if (parked.ok()) parked = ParkSessions(List(), deadline);
  if (!parked.ok()) EndParking();
  return parked;
}

// Sessions that are being opened are parked with the others.
absl::Status SessionRegistry::AwaitParkable(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  admission_.SetParking(true);
  const auto opened = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return admission_.in_transit() == 0;
  };
  if (mutex_.AwaitWithDeadline(absl::Condition(&opened), deadline)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      admission_.in_transit(), " sessions are still being opened or closed"));
}

void SessionRegistry::UnparkAll() {
  UnparkSessions(List());
  EndParking();
}

void SessionRegistry::EndParking() {
  absl::MutexLock lock(&mutex_);
  admission_.SetParking(false);
}

SessionRegistry::Next SessionRegistry::NextExecutors() const {
  Next next;
  for (const auto& session : List()) {
    if (!session->NeedsExecutorNext()) continue;
    if (session->shares_server()) {
      ++next.shared;
    } else {
      next.devices.push_back(session->current_devices().front());
    }
  }
  return next;
}

void SessionRegistry::AwaitRecovered(absl::Time deadline) const {
  for (const auto& session : List()) session->AwaitRecovered(deadline);
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
    admission_.NoteRestart();
  }
  for (const auto& session : List()) session->TellRestart();
}

void SessionRegistry::Drain(std::function<void()> on_empty) {
  {
    absl::MutexLock lock(&mutex_);
    admission_.Drain();
    on_empty_ = std::move(on_empty);
  }
  NotifyIfEmpty();
}

void SessionRegistry::SetPaused(bool paused) {
  absl::MutexLock lock(&mutex_);
  admission_.SetPaused(paused);
  if (!paused || options_.kept == nullptr) {
    kept_pause_ = DescriptorStore::Kept();
    return;
  }
  internal::DaemonRecord record;
  record.set_paused(true);
  kept_pause_ = options_.kept->KeepRecord({"daemon", {0}}, record);
}

size_t SessionRegistry::AwaitPausedEmpty(
    absl::Time deadline, const std::stop_token& cancelled) const {
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  const auto over = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !admission_.paused() || Count() == 0 || cancelled.stop_requested();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  return Count();
}

void SessionRegistry::NotifyIfEmpty() {
  std::function<void()> on_empty;
  {
    absl::MutexLock lock(&mutex_);
    if (Count() == 0) on_empty.swap(on_empty_);
  }
  if (on_empty) on_empty();
}

void SessionRegistry::CloseExpired() {
  const absl::Time now = options_.lease_time();
  std::vector<std::function<void()>> closing;
  for (const auto& session : List()) {
    if (session->HasRemains()) {
      closing.emplace_back([session] { session->ReleaseRemains(); });
      continue;
    }
    if (session->deadline() > now) continue;
    // Each may take as long as its executor needs to stop.
    closing.emplace_back(
        [this, session] { Close(*session, "no client keeps it alive"); });
  }
  RunSideBySide(std::move(closing));
}

bool SessionRegistry::AwaitExpiry() {
  while (true) {
    const uint64_t seen = DeadlineChanges();
    // Not under mutex_: a session may just tell the service manager something.
    absl::Time earliest = absl::InfiniteFuture();
    for (const auto& session : List()) {
      earliest =
          std::min(earliest, session->HasRemains() ? absl::InfinitePast()
                                                   : session->deadline());
    }
    absl::MutexLock lock(&mutex_);
    if (stopped_) return false;
    const absl::Time now = options_.lease_time();
    if (earliest <= now) return true;
    const auto changed = [this, seen]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return stopped_ || deadline_changes_ != seen;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&changed), earliest - now);
  }
}

uint64_t SessionRegistry::DeadlineChanges() const {
  absl::MutexLock lock(&mutex_);
  return deadline_changes_;
}

void SessionRegistry::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

}  // namespace holdfast::supervisor
