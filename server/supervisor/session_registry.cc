// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_registry.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
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
#include "server/rpc/unix_socket.h"

namespace holdfast::supervisor {
namespace {

constexpr size_t kTokenBytes = 16;

// Executors that are tried for one session.
constexpr int kMaxStarts = 3;

absl::Duration ToDuration(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::ToInt64Seconds(duration));
  proto.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(duration % absl::Seconds(1))));
  return proto;
}

absl::StatusOr<absl::Duration> GraceOf(const v1::OpenSessionRequest& request) {
  const absl::Duration grace = ToDuration(request.reconnect_grace());
  if (grace < absl::ZeroDuration() || grace > SessionRegistry::kMaxGrace) {
    return absl::InvalidArgumentError(absl::StrCat("reconnect_grace is ",
                                                   absl::FormatDuration(grace),
                                                   ", allowed is 0 to 1 hour"));
  }
  return grace;
}

// How long the session is to live without any client.
absl::StatusOr<absl::Duration> LifetimeOf(const v1::OpenSessionRequest& request,
                                          absl::Duration limit) {
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Duration grace, GraceOf(request));
  const absl::Duration detached = ToDuration(request.detached_lifetime());
  if (detached > limit && limit == absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "no session of this daemon lives on without a client: its operator "
        "allows it by --detached-session-limit");
  }
  if (detached < absl::ZeroDuration() || detached > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the session is to live ", absl::FormatDuration(detached),
        " without a client, the daemon allows ", absl::FormatDuration(limit),
        " (detached_lifetime, --detached-session-limit)"));
  }
  return std::max(grace, detached);
}

// A limit of time, and where it comes from. 0: there is none.
struct TimeLimit {
  absl::Duration limit;
  std::string set_by;
};

// The lower of two.
TimeLimit Least(TimeLimit a, TimeLimit b) {
  if (a.limit == absl::ZeroDuration()) return b;
  return b.limit == absl::ZeroDuration() || a.limit <= b.limit ? a : b;
}

absl::Status SetKernelTimeLimit(const v1::OpenSessionRequest& request,
                                const Tenant& tenant, absl::Duration limit,
                                internal::Assign* assign) {
  const absl::Duration wish = ToDuration(request.kernel_time_limit());
  if (wish < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_time_limit is ", absl::FormatDuration(wish),
                     ", which is less than nothing"));
  }
  const TimeLimit least =
      Least(Least({limit, "--kernel-time-limit"},
                  {tenant.kernel_time_limit(),
                   absl::StrCat("kernel-time-limit of tenant ", tenant.name(),
                                " in the policy")}),
            {wish, "kernel_time_limit of OpenSession"});
  assign->set_kernel_time_limit_ns(absl::ToInt64Nanoseconds(least.limit));
  assign->set_kernel_time_limit_set_by(least.set_by);
  return absl::OkStatus();
}

absl::Status CheckLength(absl::string_view what, const std::string& text,
                         size_t limit) {
  if (text.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", text.size(), " bytes, the limit is ", limit));
}

absl::Status CheckRequest(const v1::OpenSessionRequest& request) {
  using Registry = SessionRegistry;
  if (request.protocol_version() != Registry::kProtocolVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("protocol version ", request.protocol_version(),
                     " is not supported; this daemon speaks version ",
                     Registry::kProtocolVersion));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckLength("the session's name", request.name(),
                                       Registry::kMaxNameBytes));
  HOLDFAST_RETURN_IF_ERROR(CheckLength("ClientInfo.program",
                                       request.client().program(),
                                       Registry::kMaxClientInfoBytes));
  HOLDFAST_RETURN_IF_ERROR(CheckLength("ClientInfo.host",
                                       request.client().host(),
                                       Registry::kMaxClientInfoBytes));
  if (request.devices_size() > Registry::kMaxDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request names ", request.devices_size(),
                     " devices, the limit is ", Registry::kMaxDevices));
  }
  if (!v1::RecoveryPolicy_IsValid(request.recover())) {
    return absl::InvalidArgumentError(
        absl::StrCat("recover is ", request.recover(), ", which is no policy"));
  }
  return GraceOf(request).status();
}

// The least of what the client asks for and what the daemon allows a session.
// The tenant's quota, over all its sessions, is granted as they ask.
internal::AccountLimits LimitsOf(const v1::OpenSessionRequest& request,
                                 const SessionQuotas& quotas,
                                 const Tenant& tenant) {
  internal::AccountLimits limits;
  const uint64_t wish = request.memory_limit();
  const bool by_client =
      wish != 0 && (quotas.device_bytes == 0 || wish < quotas.device_bytes);
  limits.set_device_bytes(by_client ? wish : quotas.device_bytes);
  limits.set_device_bytes_set_by(by_client ? "memory_limit of OpenSession"
                                           : "--session-memory");
  limits.set_pinned_bytes(quotas.pinned_bytes);
  limits.set_arena_bytes(quotas.arena_bytes);
  limits.set_handles(quotas.handles);
  limits.set_outstanding_commands(quotas.outstanding_commands);
  limits.set_reserve_buffers(tenant.counts_buffers());
  return limits;
}

std::string Label(const v1::OpenSessionRequest& request) {
  const v1::ClientInfo& client = request.client();
  std::string label;
  if (!request.name().empty())
    absl::StrAppend(&label, " \"", request.name(), "\"");
  if (!client.program().empty()) {
    absl::StrAppend(&label, " for ", client.program(), "[", client.pid(), "]");
  }
  return label;
}

bool IsLost(const Session& session) { return session.lost(); }

v1::RecoveryPolicy PolicyOf(const v1::OpenSessionRequest& request) {
  return request.recover() == v1::RECOVERY_POLICY_UNSPECIFIED
             ? v1::RECOVERY_POLICY_ALWAYS
             : request.recover();
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
    LogFor(caller.client(), LogLevel::kWarning, "no session", Label(request),
           " from ", caller.peer, ": ", opened.status().message());
  }
  NotifyIfEmpty();
  return opened;
}

absl::Status SessionRegistry::Enter(const Caller& caller, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto settled = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !parking_ || restarting_ || draining_;
  };
  mutex_.AwaitWithDeadline(absl::Condition(&settled), deadline);
  if (parking_ && !draining_) {
    return absl::UnavailableError(
        "the daemon makes way for another, which opens sessions again");
  }
  if (draining_ || paused_) {
    return absl::UnavailableError(
        "the daemon is draining and opens no new sessions");
  }
  size_t open = in_transit_;
  const auto moving = in_transit_of_.find(caller.client());
  size_t own = moving == in_transit_of_.end() ? 0 : moving->second;
  for (const auto& [number, session] : sessions_) {
    if (IsLost(*session)) continue;
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
  ++in_transit_;
  ++in_transit_of_[caller.client()];
  return absl::OkStatus();
}

void SessionRegistry::Leave(const std::string& client) {
  --in_transit_;
  const auto found = in_transit_of_.find(client);
  if (--found->second == 0) in_transit_of_.erase(found);
}

void SessionRegistry::CloseLostForRoom() {
  while (true) {
    std::shared_ptr<Session> victim;
    {
      absl::MutexLock lock(&mutex_);
      if (sessions_.size() + in_transit_ <= options_.max_sessions) return;
      std::map<std::string, std::vector<std::shared_ptr<Session>>> lost;
      for (const auto& [number, session] : sessions_) {
        if (IsLost(*session)) lost[session->client()].push_back(session);
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
    Leave(caller.client());
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
         Label(request), " from ", caller.peer, ", executor pid ",
         executor->pid());
  internal::SessionRecord record;
  *record.mutable_assign() = assign;
  record.set_name(request.name());
  *record.mutable_client() = request.client();
  record.set_peer(caller.peer);
  *record.mutable_grace() =
      ToProto(*LifetimeOf(request, options_.detached_limit));
  record.set_detachable(ToDuration(request.detached_lifetime()) >
                        absl::ZeroDuration());
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
      "there is no session ", absl::CEscape(id.substr(0, kMaxNameBytes))));
}

std::shared_ptr<Session> SessionRegistry::TakeOut(const Session& session) {
  absl::MutexLock lock(&mutex_);
  for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
    if (it->second.get() != &session) continue;
    std::shared_ptr<Session> taken = std::move(it->second);
    sessions_.erase(it);
    // Still holds its executor, until it is closed.
    ++in_transit_;
    ++in_transit_of_[taken->client()];
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
    Leave(taken->client());
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
      return !in_transit_of_.contains(tenant.name());
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

void SessionRegistry::Drain(std::function<void()> on_empty) {
  {
    absl::MutexLock lock(&mutex_);
    draining_ = true;
    on_empty_ = std::move(on_empty);
  }
  NotifyIfEmpty();
}

void SessionRegistry::SetPaused(bool paused) {
  absl::MutexLock lock(&mutex_);
  paused_ = paused;
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
    return !paused_ || sessions_.size() + in_transit_ == 0 ||
           cancelled.stop_requested();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
  return sessions_.size() + in_transit_;
}

void SessionRegistry::NotifyIfEmpty() {
  std::function<void()> on_empty;
  {
    absl::MutexLock lock(&mutex_);
    if (sessions_.empty() && in_transit_ == 0) on_empty.swap(on_empty_);
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
