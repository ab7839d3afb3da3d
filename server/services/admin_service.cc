// SPDX-License-Identifier: Apache-2.0
#include "server/services/admin_service.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/config/version.h"
#include "server/rpc/unary_call.h"

namespace holdfast {
namespace {

constexpr size_t kMaxListed = 10000;

constexpr size_t kMaxReasonBytes = 256;

// Acts that are done to the daemon as a whole.
const std::string& NoObject() {
  static const std::string& none = *new std::string;
  return none;
}

// How long a session's work may take to end before it is suspended.
constexpr absl::Duration kSuspendTimeout = absl::Seconds(30);
constexpr absl::Duration kUpgradeTimeout = absl::Seconds(30);
constexpr size_t kMaxFileNameBytes = 128;

// INVALID_ARGUMENT: the timeout is negative.
template <typename Request>
absl::StatusOr<absl::Time> DeadlineOf(const Request& request,
                                      absl::Duration otherwise) {
  if (!request.has_timeout()) return absl::Now() + otherwise;
  const absl::Duration timeout = absl::Seconds(request.timeout().seconds()) +
                                 absl::Nanoseconds(request.timeout().nanos());
  if (timeout >= absl::ZeroDuration()) return absl::Now() + timeout;
  return absl::InvalidArgumentError(absl::StrCat("timeout is ",
                                                 absl::FormatDuration(timeout),
                                                 ", it must not be negative"));
}

// For clients and the log, which an operator must not fill either.
absl::Status CheckReason(const std::string& reason) {
  if (reason.size() <= kMaxReasonBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the reason has ", reason.size(), " bytes, the limit is ",
                   kMaxReasonBytes));
}

// For the session's client and the log.
std::string EndedBy(const v1::EndSessionRequest& request) {
  return absl::StrCat("an operator has ended it",
                      request.reason().empty() ? "" : ": ", request.reason());
}

// Says when its answer has been sent: the process that has sent it ends then.
class UpgradeCall : public grpc::ServerUnaryReactor {
 public:
  explicit UpgradeCall(const std::function<void()>& answered)
      : answered_(answered) {}
  void OnDone() override {
    answered_();
    delete this;
  }

 private:
  const std::function<void()>& answered_;
};

std::string HostName() {
  utsname name = {};
  return uname(&name) == 0 ? name.nodename : "";
}

void Describe(const DiskCache& cache, v1::DiskCacheStatistics* out) {
  const DiskCache::Statistics statistics = cache.statistics();
  out->set_directory(cache.directory());
  out->set_entries(statistics.entries);
  out->set_bytes(statistics.bytes);
  out->set_max_bytes(cache.max_bytes());
  out->set_hits(statistics.hits);
  out->set_evictions(statistics.evictions);
  out->set_damaged(statistics.damaged);
  out->set_not_kept(statistics.not_kept);
  out->set_problem(statistics.problem);
}

// The tenant's name of Tenant::Options.code_owner: "tenant team-a" is team-a's,
// and what follows a further space tells temporary tenants of one name apart.
std::string TenantOf(absl::string_view owner) {
  if (!absl::ConsumePrefix(&owner, "tenant ")) return std::string(owner);
  return std::string(owner.substr(0, owner.find(' ')));
}

v1::CacheEntry Describe(const std::string& key, const std::string& name,
                        const std::string& owner,
                        const v1::CompileResponse& response, absl::Time used) {
  v1::CacheEntry entry;
  entry.set_owner(TenantOf(owner));
  entry.set_key(key);
  entry.set_name(name);
  *entry.mutable_object() = response.object();
  entry.mutable_object()->clear_symbols();
  entry.set_arch(response.arch());
  entry.set_compiler(
      absl::StrCat(response.backend(), " ", response.backend_version()));
  entry.mutable_used()->set_seconds(absl::ToUnixSeconds(used));
  entry.mutable_used()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(
      used - absl::FromUnixSeconds(absl::ToUnixSeconds(used)))));
  return entry;
}

bool UsedLater(const v1::CacheEntry& a, const v1::CacheEntry& b) {
  return std::make_pair(a.used().seconds(), a.used().nanos()) >
         std::make_pair(b.used().seconds(), b.used().nanos());
}

// Entries of both tiers; an entry in both counts once. Those of one owner
// alone, if it is given.
v1::ListCacheEntriesResponse ListEntries(const CompileCache& memory,
                                         const DiskCache& disk, size_t max,
                                         std::optional<std::string> owner) {
  std::map<std::string, v1::CacheEntry> by_key;
  for (const DiskCache::Entry& entry : disk.List(max, owner)) {
    by_key[entry.key] = Describe(entry.key, entry.name, entry.owner,
                                 entry.response, entry.used);
    by_key[entry.key].set_on_disk(true);
  }
  for (const CompileCache::Entry& entry : memory.List()) {
    const CompiledProgram& program = *entry.program;
    if (owner.has_value() && program.owner != *owner) continue;
    const bool on_disk = by_key[entry.key].on_disk();
    by_key[entry.key] = Describe(entry.key, program.name, program.owner,
                                 program.response, entry.used);
    by_key[entry.key].set_in_memory(true);
    by_key[entry.key].set_on_disk(on_disk);
  }
  std::vector<v1::CacheEntry> entries;
  entries.reserve(by_key.size());
  for (auto& [key, entry] : by_key) entries.push_back(std::move(entry));
  std::sort(entries.begin(), entries.end(), UsedLater);
  if (entries.size() > max) entries.resize(max);
  v1::ListCacheEntriesResponse response;
  response.mutable_entries()->Add(entries.begin(), entries.end());
  return response;
}

}  // namespace

AdminService::AdminService(supervisor::SessionRegistry& registry,
                           const CompilerPool& compilers, CompileCache& cache,
                           DiskCache& disk_cache, TenantAdmin& tenants,
                           const Callers& callers, CallThreads& threads,
                           std::string suspend_directory, UpgradeCalls upgrade)
    : registry_(registry),
      compilers_(compilers),
      cache_(cache),
      disk_cache_(disk_cache),
      tenants_(tenants),
      callers_(callers),
      threads_(threads),
      suspend_directory_(std::move(suspend_directory)),
      upgrade_(std::move(upgrade)),
      started_(absl::Now()) {}

AdminService::~AdminService() = default;

template <typename Make>
grpc::ServerUnaryReactor* AdminService::Act(
    grpc::CallbackServerContext* context, const char* act,
    const std::string& object, Make make) {
  const auto caller = callers_.OperatorOf(*context, act, object);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(context, threads_, caller->client(),
                        [this, context, act, &object, make = std::move(make)] {
                          const absl::Status outcome = make();
                          callers_.RecordAct(*context, act, object, outcome);
                          return outcome;
                        });
}

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest*,
    v1::GetServerInfoResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  response->set_version(server::kVersion);
  response->add_protocol_versions(supervisor::kProtocolVersion);
  const absl::Time second =
      absl::FromUnixSeconds(absl::ToUnixSeconds(started_));
  response->mutable_started()->set_seconds(absl::ToUnixSeconds(second));
  response->mutable_started()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(started_ - second)));
  response->set_pid(getpid());
  response->set_host(HostName());
  response->set_compiler(compilers_.backend());
  response->set_compiler_confinement(compilers_.confinement());
  response->set_sessions(static_cast<uint32_t>(registry_.List().size()));
  response->set_max_sessions(static_cast<uint32_t>(registry_.max_sessions()));
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* AdminService::Drain(
    grpc::CallbackServerContext* context, const v1::DrainRequest* request,
    v1::DrainResponse* response) {
  const auto caller = callers_.OperatorOf(*context, "Drain");
  if (!caller.ok()) return Answer(context, caller.status());
  const absl::StatusOr<absl::Time> deadline =
      DeadlineOf(*request, absl::InfiniteDuration());
  // Drained or not is seen after hours: the act is that no session is opened.
  if (deadline.ok()) registry_.SetPaused(!request->stop());
  callers_.RecordAct(*context, "Drain", request->stop() ? "stop" : "",
                     deadline.status());
  if (!deadline.ok()) return Answer(context, deadline.status());
  LogInfo(request->stop() ? "sessions are opened again"
                          : "no new sessions are opened",
          ", as ", caller->client(), " has asked");
  return AnswerInThread(
      context, threads_, caller->client(),
      [this, deadline = *deadline, response](const std::stop_token& cancelled) {
        const size_t left = registry_.AwaitPausedEmpty(deadline, cancelled);
        response->set_sessions_left(static_cast<uint32_t>(left));
        return cancelled.stop_requested() ? absl::CancelledError("given up")
                                          : absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* AdminService::EndSession(
    grpc::CallbackServerContext* context, const v1::EndSessionRequest* request,
    v1::EndSessionResponse*) {
  return Act(context, "EndSession", request->session_id(),
             [this, request]() -> absl::Status {
               HOLDFAST_RETURN_IF_ERROR(CheckReason(request->reason()));
               HOLDFAST_ASSIGN_OR_RETURN(
                   const auto session,
                   registry_.FindById(request->session_id()));
               registry_.Close(*session, EndedBy(*request));
               return absl::OkStatus();
             });
}

grpc::ServerUnaryReactor* AdminService::GetCacheStatistics(
    grpc::CallbackServerContext* context, const v1::GetCacheStatisticsRequest*,
    v1::GetCacheStatisticsResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(
        callers_.OperatorOf(*context, "GetCacheStatistics").status());
    const CompileCache::Statistics statistics = cache_.statistics();
    response->set_entries(statistics.entries);
    response->set_bytes(statistics.bytes);
    response->set_max_bytes(cache_.max_bytes());
    response->set_hits(statistics.hits);
    response->set_misses(statistics.misses);
    response->set_evictions(statistics.evictions);
    if (disk_cache_.enabled()) Describe(disk_cache_, response->mutable_disk());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::ListCacheEntries(
    grpc::CallbackServerContext* context,
    const v1::ListCacheEntriesRequest* request,
    v1::ListCacheEntriesResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(context, threads_, caller->client(),
                        [this, caller = *caller, request, response] {
                          size_t max = request->max_entries();
                          if (max == 0 || max > kMaxListed) max = kMaxListed;
                          std::optional<std::string> owner;
                          if (!caller.is_operator())
                            owner = caller.tenant->code_owner();
                          // An address proves nothing, so nothing is its own.
                          if (owner == "") return absl::OkStatus();
                          *response =
                              ListEntries(cache_, disk_cache_, max, owner);
                          return absl::OkStatus();
                        });
}

grpc::ServerUnaryReactor* AdminService::ClearCache(
    grpc::CallbackServerContext* context, const v1::ClearCacheRequest*,
    v1::ClearCacheResponse* response) {
  return Act(context, "ClearCache", NoObject(), [this, response] {
    response->set_entries(cache_.Clear());
    response->set_disk_entries(disk_cache_.Clear());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* AdminService::SetQuota(
    grpc::CallbackServerContext* context, const v1::SetQuotaRequest* request,
    v1::SetQuotaResponse*) {
  const std::string& subject =
      request->has_session_id() ? request->session_id() : request->tenant();
  return Act(context, "SetQuota", subject, [this, request]() -> absl::Status {
    if (!request->has_session_id()) {
      return tenants_.SetQuota(request->tenant(), request->quota());
    }
    HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                              registry_.FindById(request->session_id()));
    return session->SetQuota(request->quota());
  });
}

grpc::ServerUnaryReactor* AdminService::CreateTenant(
    grpc::CallbackServerContext* context,
    const v1::CreateTenantRequest* request,
    v1::CreateTenantResponse* response) {
  return Act(context, "CreateTenant", request->name(),
             [this, request, response]() -> absl::Status {
               HOLDFAST_ASSIGN_OR_RETURN(*response->mutable_token(),
                                         tenants_.Create(*request));
               return absl::OkStatus();
             });
}

grpc::ServerUnaryReactor* AdminService::EndTenant(
    grpc::CallbackServerContext* context, const v1::EndTenantRequest* request,
    v1::EndTenantResponse* response) {
  return Act(context, "EndTenant", request->name(),
             [this, request, response]() -> absl::Status {
               HOLDFAST_RETURN_IF_ERROR(CheckReason(request->reason()));
               HOLDFAST_ASSIGN_OR_RETURN(
                   *response->mutable_final(),
                   tenants_.End(request->name(), request->reason()));
               return absl::OkStatus();
             });
}

grpc::ServerUnaryReactor* AdminService::ListTenants(
    grpc::CallbackServerContext* context, const v1::ListTenantsRequest*,
    v1::ListTenantsResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(context, threads_, caller->client(),
                        [this, caller = *caller, response] {
                          *response = tenants_.List(caller);
                          return absl::OkStatus();
                        });
}

absl::StatusOr<std::string> AdminService::SuspensionPath(
    const std::string& file) const {
  if (file.empty()) return file;
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_';
  };
  if (file.size() > kMaxFileNameBytes || file[0] == '.' ||
      !std::all_of(file.begin(), file.end(), plain)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CEscape(file.substr(0, kMaxFileNameBytes)),
                     "' is not the name of a file in --suspend-directory: "
                     "letters, digits, '-', '_' and '.', not at the front, at "
                     "most ",
                     kMaxFileNameBytes, " bytes"));
  }
  if (suspend_directory_.empty()) {
    return absl::FailedPreconditionError(
        "the daemon was started without --suspend-directory: sessions can be "
        "suspended to host memory");
  }
  return absl::StrCat(suspend_directory_, "/", file);
}

grpc::ServerUnaryReactor* AdminService::SuspendSession(
    grpc::CallbackServerContext* context,
    const v1::SuspendSessionRequest* request,
    v1::SuspendSessionResponse* response) {
  return Act(context, "SuspendSession", request->session_id(),
             [this, request, response]() -> absl::Status {
               HOLDFAST_ASSIGN_OR_RETURN(const absl::Time deadline,
                                         DeadlineOf(*request, kSuspendTimeout));
               HOLDFAST_ASSIGN_OR_RETURN(const std::string path,
                                         SuspensionPath(request->file()));
               HOLDFAST_ASSIGN_OR_RETURN(
                   const auto session,
                   registry_.FindById(request->session_id()));
               HOLDFAST_ASSIGN_OR_RETURN(const uint64_t bytes,
                                         session->Suspend(path, deadline));
               response->set_bytes(bytes);
               return absl::OkStatus();
             });
}

grpc::ServerUnaryReactor* AdminService::ResumeSession(
    grpc::CallbackServerContext* context,
    const v1::ResumeSessionRequest* request,
    v1::ResumeSessionResponse* response) {
  return Act(context, "ResumeSession", request->session_id(),
             [this, context, request, response]() -> absl::Status {
               HOLDFAST_ASSIGN_OR_RETURN(
                   const auto session,
                   registry_.FindById(request->session_id()));
               HOLDFAST_RETURN_IF_ERROR(session->ResumeSuspended(
                   request->has_device() ? std::make_optional(request->device())
                                         : std::nullopt,
                   absl::FromChrono(context->deadline())));
               const std::vector<uint32_t> devices = session->current_devices();
               response->mutable_devices()->Add(devices.begin(), devices.end());
               return absl::OkStatus();
             });
}

grpc::ServerUnaryReactor* AdminService::Upgrade(
    grpc::CallbackServerContext* context, const v1::UpgradeRequest* request,
    v1::UpgradeResponse* response) {
  const auto caller = callers_.OperatorOf(*context, "Upgrade");
  if (!caller.ok()) return Answer(context, caller.status());
  const absl::StatusOr<absl::Time> deadline =
      DeadlineOf(*request, kUpgradeTimeout);
  if (!deadline.ok()) return Answer(context, deadline.status());
  auto* const call = new UpgradeCall(upgrade_.answered);
  const absl::Status running = threads_.Run(
      caller->client(), [this, context, call, deadline = *deadline, response] {
        auto version = upgrade_.prepare(deadline);
        callers_.RecordAct(*context, "Upgrade", "", version.status());
        if (version.ok()) *response->mutable_version() = *version;
        call->Finish(ToGrpcStatus(version.status()));
      });
  if (!running.ok()) call->Finish(ToGrpcStatus(running));
  return call;
}

}  // namespace holdfast
