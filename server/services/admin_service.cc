// SPDX-License-Identifier: Apache-2.0
#include "server/services/admin_service.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "server/rpc/unary_call.h"
#include "server/version.h"

namespace holdfast {
namespace {

constexpr size_t kMaxListed = 10000;

grpc::ServerUnaryReactor* NotServed(grpc::CallbackServerContext* context,
                                    const char* sentence) {
  return Answer(context, absl::UnimplementedError(sentence));
}

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

v1::CacheEntry Describe(const std::string& key, const std::string& name,
                        const v1::CompileResponse& response, absl::Time used) {
  v1::CacheEntry entry;
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

// Of both tiers; what is in both is one entry.
v1::ListCacheEntriesResponse ListEntries(const CompileCache& memory,
                                         const DiskCache& disk, size_t max) {
  std::map<std::string, v1::CacheEntry> by_key;
  for (const DiskCache::Entry& entry : disk.List(max)) {
    by_key[entry.key] =
        Describe(entry.key, entry.name, entry.response, entry.used);
    by_key[entry.key].set_on_disk(true);
  }
  for (const CompileCache::Entry& entry : memory.List()) {
    const bool on_disk = by_key[entry.key].on_disk();
    by_key[entry.key] = Describe(entry.key, entry.program->name,
                                 entry.program->response, entry.used);
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

AdminService::AdminService(const SessionRegistry& registry,
                           const CompilerPool& compilers, CompileCache& cache,
                           DiskCache& disk_cache, const PeerTable& peers,
                           CallThreads& threads)
    : registry_(registry),
      compilers_(compilers),
      cache_(cache),
      disk_cache_(disk_cache),
      peers_(peers),
      threads_(threads),
      started_(absl::Now()) {}

absl::Status AdminService::CheckOwner(
    const grpc::ServerContextBase& context) const {
  if (peers_.IsOwner(context.peer())) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the cache is for the daemon's own user on its Unix socket, "
                   "not for ",
                   peers_.Describe(context.peer())));
}

grpc::ServerUnaryReactor* AdminService::GetServerInfo(
    grpc::CallbackServerContext* context, const v1::GetServerInfoRequest*,
    v1::GetServerInfoResponse* response) {
  response->set_version(kVersion);
  response->add_protocol_versions(SessionRegistry::kProtocolVersion);
  response->mutable_started()->set_seconds(absl::ToUnixSeconds(started_));
  response->set_pid(getpid());
  response->set_host(HostName());
  response->set_compiler(compilers_.backend());
  response->set_compiler_confinement(compilers_.confinement());
  response->set_sessions(static_cast<uint32_t>(registry_.List().size()));
  response->set_max_sessions(static_cast<uint32_t>(registry_.max_sessions()));
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* AdminService::Drain(
    grpc::CallbackServerContext* context, const v1::DrainRequest*,
    v1::DrainResponse*) {
  return NotServed(context, "send the daemon SIGTERM to drain it");
}

grpc::ServerUnaryReactor* AdminService::EndSession(
    grpc::CallbackServerContext* context, const v1::EndSessionRequest*,
    v1::EndSessionResponse*) {
  return NotServed(
      context,
      "this daemon cannot end another's session; stop the client's process, or "
      "the executor whose pid ListSessions shows");
}

grpc::ServerUnaryReactor* AdminService::GetCacheStatistics(
    grpc::CallbackServerContext* context, const v1::GetCacheStatisticsRequest*,
    v1::GetCacheStatisticsResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    HOLDFAST_RETURN_IF_ERROR(CheckOwner(*context));
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
  const absl::Status allowed = CheckOwner(*context);
  if (!allowed.ok()) return Answer(context, allowed);
  return AnswerInThread(context, threads_, peers_.ClientOf(*context),
                        [this, request, response] {
                          size_t max = request->max_entries();
                          if (max == 0 || max > kMaxListed) max = kMaxListed;
                          *response = ListEntries(cache_, disk_cache_, max);
                          return absl::OkStatus();
                        });
}

grpc::ServerUnaryReactor* AdminService::ClearCache(
    grpc::CallbackServerContext* context, const v1::ClearCacheRequest*,
    v1::ClearCacheResponse* response) {
  const absl::Status allowed = CheckOwner(*context);
  if (!allowed.ok()) return Answer(context, allowed);
  return AnswerInThread(context, threads_, peers_.ClientOf(*context),
                        [this, response] {
                          response->set_entries(cache_.Clear());
                          response->set_disk_entries(disk_cache_.Clear());
                          return absl::OkStatus();
                        });
}

grpc::ServerUnaryReactor* AdminService::SetQuota(
    grpc::CallbackServerContext* context, const v1::SetQuotaRequest*,
    v1::SetQuotaResponse*) {
  return NotServed(
      context,
      "quotas are set by the daemon's flags, --session-memory and those beside "
      "it in --help; a client may limit itself further with "
      "OpenSessionRequest.memory_limit");
}

grpc::ServerUnaryReactor* AdminService::SuspendSession(
    grpc::CallbackServerContext* context, const v1::SuspendSessionRequest*,
    v1::SuspendSessionResponse*) {
  return NotServed(context, "this daemon cannot suspend sessions");
}

grpc::ServerUnaryReactor* AdminService::ResumeSession(
    grpc::CallbackServerContext* context, const v1::ResumeSessionRequest*,
    v1::ResumeSessionResponse*) {
  return NotServed(context, "this daemon cannot suspend sessions");
}

}  // namespace holdfast
