// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/rpc/call_threads.h"
#include "server/services/tenant_admin.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Serves GetServerInfo and ListTenants to every tenant; to operators the cache,
// tenants, sessions (to end, to suspend and to resume them) and Drain too.
//
// Calls that may wait, and all acts of operators, run in `threads`; acts are
// written into the audit log with their outcome. The effect of each rpc, and
// its errors, stands in admin.proto.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  // Has the daemon make way for a new binary.
  struct MakeWay {
    // Returns the new version once work has ended.
    std::function<absl::StatusOr<std::string>(absl::Time deadline)> prepare;
    // The client has the answer, or is gone.
    std::function<void()> answered;
  };

  // All must outlive the service. Calls that wait have `threads`. Sessions are
  // suspended to files in `suspend_directory`; empty: to host memory only.
  AdminService(supervisor::SessionRegistry& registry,
               const CompilerPool& compilers, CompileCache& cache,
               DiskCache& disk_cache, TenantAdmin& tenants,
               const Callers& callers, CallThreads& threads,
               std::string suspend_directory, MakeWay make_way);
  ~AdminService() override;

  // For every tenant; does not wait.
  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const v1::GetServerInfoRequest* request,
      v1::GetServerInfoResponse* response) override;
  // The act is that no session is opened any more, or again; it is recorded at
  // once. The call then waits until no session is left, which may take hours.
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  // The reason may have 256 bytes.
  grpc::ServerUnaryReactor* EndSession(
      grpc::CallbackServerContext* context,
      const v1::EndSessionRequest* request,
      v1::EndSessionResponse* response) override;
  grpc::ServerUnaryReactor* GetCacheStatistics(
      grpc::CallbackServerContext* context,
      const v1::GetCacheStatisticsRequest* request,
      v1::GetCacheStatisticsResponse* response) override;
  // A user sees the entries of its own compilations, an operator all; 10000 at
  // most, those that were used last.
  grpc::ServerUnaryReactor* ListCacheEntries(
      grpc::CallbackServerContext* context,
      const v1::ListCacheEntriesRequest* request,
      v1::ListCacheEntriesResponse* response) override;
  grpc::ServerUnaryReactor* ClearCache(
      grpc::CallbackServerContext* context,
      const v1::ClearCacheRequest* request,
      v1::ClearCacheResponse* response) override;
  // Sets a session's if the request names one, else a tenant's.
  grpc::ServerUnaryReactor* SetQuota(grpc::CallbackServerContext* context,
                                     const v1::SetQuotaRequest* request,
                                     v1::SetQuotaResponse* response) override;
  grpc::ServerUnaryReactor* CreateTenant(
      grpc::CallbackServerContext* context,
      const v1::CreateTenantRequest* request,
      v1::CreateTenantResponse* response) override;
  // Waits until the tenant's sessions have ended.
  grpc::ServerUnaryReactor* EndTenant(grpc::CallbackServerContext* context,
                                      const v1::EndTenantRequest* request,
                                      v1::EndTenantResponse* response) override;
  grpc::ServerUnaryReactor* ListTenants(
      grpc::CallbackServerContext* context,
      const v1::ListTenantsRequest* request,
      v1::ListTenantsResponse* response) override;
  // Sessions have 30 s to let their work end unless the request says otherwise.
  grpc::ServerUnaryReactor* SuspendSession(
      grpc::CallbackServerContext* context,
      const v1::SuspendSessionRequest* request,
      v1::SuspendSessionResponse* response) override;
  // Until the call's deadline.
  grpc::ServerUnaryReactor* ResumeSession(
      grpc::CallbackServerContext* context,
      const v1::ResumeSessionRequest* request,
      v1::ResumeSessionResponse* response) override;
  // The daemon ends once the answer is sent; see MakeWay.
  grpc::ServerUnaryReactor* Upgrade(grpc::CallbackServerContext* context,
                                    const v1::UpgradeRequest* request,
                                    v1::UpgradeResponse* response) override;

 private:
  // Carries out an operator's act, which may wait, or refuses it to others, and
  // writes how it ended into the audit log. `object` belongs to the request.
  template <typename Make>
  grpc::ServerUnaryReactor* Act(grpc::CallbackServerContext* context,
                                const char* act, const std::string& object,
                                Make make);

  // The file that a session is suspended to. FAILED_PRECONDITION: files are
  // not allowed; INVALID_ARGUMENT: it is no plain name.
  absl::StatusOr<std::string> SuspensionPath(const std::string& file) const;

  supervisor::SessionRegistry& registry_;
  const CompilerPool& compilers_;
  CompileCache& cache_;
  DiskCache& disk_cache_;
  TenantAdmin& tenants_;
  const Callers& callers_;
  CallThreads& threads_;
  const std::string suspend_directory_;
  const MakeWay make_way_;
  const absl::Time started_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_
