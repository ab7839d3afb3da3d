// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/peer_table.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Serves GetServerInfo and, for the daemon's own user and root on its Unix
// sockets, the cache. Of the rest, each says what to do instead.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  // All must outlive the service. Calls that read the disk have `threads`.
  AdminService(const SessionRegistry& registry, const CompilerPool& compilers,
               CompileCache& cache, DiskCache& disk_cache,
               const PeerTable& peers, CallThreads& threads);

  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const v1::GetServerInfoRequest* request,
      v1::GetServerInfoResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  grpc::ServerUnaryReactor* EndSession(
      grpc::CallbackServerContext* context,
      const v1::EndSessionRequest* request,
      v1::EndSessionResponse* response) override;
  grpc::ServerUnaryReactor* GetCacheStatistics(
      grpc::CallbackServerContext* context,
      const v1::GetCacheStatisticsRequest* request,
      v1::GetCacheStatisticsResponse* response) override;
  grpc::ServerUnaryReactor* ListCacheEntries(
      grpc::CallbackServerContext* context,
      const v1::ListCacheEntriesRequest* request,
      v1::ListCacheEntriesResponse* response) override;
  grpc::ServerUnaryReactor* ClearCache(
      grpc::CallbackServerContext* context,
      const v1::ClearCacheRequest* request,
      v1::ClearCacheResponse* response) override;
  grpc::ServerUnaryReactor* SetQuota(grpc::CallbackServerContext* context,
                                     const v1::SetQuotaRequest* request,
                                     v1::SetQuotaResponse* response) override;
  grpc::ServerUnaryReactor* SuspendSession(
      grpc::CallbackServerContext* context,
      const v1::SuspendSessionRequest* request,
      v1::SuspendSessionResponse* response) override;
  grpc::ServerUnaryReactor* ResumeSession(
      grpc::CallbackServerContext* context,
      const v1::ResumeSessionRequest* request,
      v1::ResumeSessionResponse* response) override;

 private:
  // PERMISSION_DENIED: the caller is neither the daemon's user nor root.
  absl::Status CheckOwner(const grpc::ServerContextBase& context) const;

  const SessionRegistry& registry_;
  const CompilerPool& compilers_;
  CompileCache& cache_;
  DiskCache& disk_cache_;
  const PeerTable& peers_;
  CallThreads& threads_;
  const absl::Time started_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_
