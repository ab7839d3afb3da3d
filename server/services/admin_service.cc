// SPDX-License-Identifier: Apache-2.0
#include "server/services/admin_service.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/version.h"

namespace holdfast {
namespace {

grpc::Status NotServed(const char* sentence) {
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, sentence);
}

std::string HostName() {
  utsname name = {};
  return uname(&name) == 0 ? name.nodename : "";
}

}  // namespace

AdminService::AdminService(const SessionRegistry& registry,
                           const CompilerPool& compilers, CompileCache& cache,
                           const PeerTable& peers)
    : registry_(registry),
      compilers_(compilers),
      cache_(cache),
      peers_(peers),
      started_(absl::Now()) {}

grpc::Status AdminService::CheckOwner(
    const grpc::ServerContext& context) const {
  if (peers_.IsOwner(context.peer())) return grpc::Status::OK;
  return grpc::Status(
      grpc::StatusCode::PERMISSION_DENIED,
      absl::StrCat("the cache is for the daemon's own user on its Unix socket, "
                   "not for ",
                   peers_.Describe(context.peer())));
}

grpc::Status AdminService::GetServerInfo(grpc::ServerContext*,
                                         const v1::GetServerInfoRequest*,
                                         v1::GetServerInfoResponse* response) {
  response->set_version(kVersion);
  response->add_protocol_versions(SessionRegistry::kProtocolVersion);
  response->mutable_started()->set_seconds(absl::ToUnixSeconds(started_));
  response->set_pid(getpid());
  response->set_host(HostName());
  response->set_compiler(compilers_.backend());
  response->set_sessions(static_cast<uint32_t>(registry_.List().size()));
  response->set_max_sessions(static_cast<uint32_t>(registry_.max_sessions()));
  return grpc::Status::OK;
}

grpc::Status AdminService::Drain(grpc::ServerContext*, const v1::DrainRequest*,
                                 v1::DrainResponse*) {
  return NotServed("send the daemon SIGTERM to drain it");
}

grpc::Status AdminService::EndSession(grpc::ServerContext*,
                                      const v1::EndSessionRequest*,
                                      v1::EndSessionResponse*) {
  return NotServed(
      "this daemon cannot end another's session; stop the client's process, or "
      "the executor whose pid ListSessions shows");
}

grpc::Status AdminService::GetCacheStatistics(
    grpc::ServerContext* context, const v1::GetCacheStatisticsRequest*,
    v1::GetCacheStatisticsResponse* response) {
  const grpc::Status allowed = CheckOwner(*context);
  if (!allowed.ok()) return allowed;
  const CompileCache::Statistics statistics = cache_.statistics();
  response->set_entries(statistics.entries);
  response->set_bytes(statistics.bytes);
  response->set_max_bytes(cache_.max_bytes());
  response->set_hits(statistics.hits);
  response->set_misses(statistics.misses);
  response->set_evictions(statistics.evictions);
  return grpc::Status::OK;
}

grpc::Status AdminService::ClearCache(grpc::ServerContext* context,
                                      const v1::ClearCacheRequest*,
                                      v1::ClearCacheResponse* response) {
  const grpc::Status allowed = CheckOwner(*context);
  if (!allowed.ok()) return allowed;
  response->set_entries(cache_.Clear());
  return grpc::Status::OK;
}

grpc::Status AdminService::SetQuota(grpc::ServerContext*,
                                    const v1::SetQuotaRequest*,
                                    v1::SetQuotaResponse*) {
  return NotServed(
      "this daemon has no quotas; a client may limit itself with "
      "OpenSessionRequest.memory_limit");
}

grpc::Status AdminService::SuspendSession(grpc::ServerContext*,
                                          const v1::SuspendSessionRequest*,
                                          v1::SuspendSessionResponse*) {
  return NotServed("this daemon cannot suspend sessions");
}

grpc::Status AdminService::ResumeSession(grpc::ServerContext*,
                                         const v1::ResumeSessionRequest*,
                                         v1::ResumeSessionResponse*) {
  return NotServed("this daemon cannot suspend sessions");
}

}  // namespace holdfast
