// SPDX-License-Identifier: Apache-2.0
#include "server/services/admin_service.h"

#include <sys/utsname.h>
#include <unistd.h>

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
                           const CompilerPool& compilers)
    : registry_(registry), compilers_(compilers), started_(absl::Now()) {}

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
    grpc::ServerContext*, const v1::GetCacheStatisticsRequest*,
    v1::GetCacheStatisticsResponse*) {
  return NotServed("this daemon has no module cache");
}

grpc::Status AdminService::ClearCache(grpc::ServerContext*,
                                      const v1::ClearCacheRequest*,
                                      v1::ClearCacheResponse*) {
  return NotServed("this daemon has no module cache");
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
