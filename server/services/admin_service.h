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

// Serves GetServerInfo, ListTenants and ListCacheEntries to every tenant, and
// the other rpcs to operators only: they change the cache, tenants, sessions
// and the daemon itself.
//
// Calls that may wait, and all changes by operators, run in `threads`. The
// outcome of each change is written to the audit log. admin.proto documents the
// effect and the errors of each rpc.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  // The functions by which Upgrade replaces the daemon by a new binary.
  struct UpgradeCalls {
    // Blocks until the sessions' work has ended, and returns the version of the
    // new binary.
    std::function<absl::StatusOr<std::string>(absl::Time deadline)> prepare;
    // Called when the client has got the answer of Upgrade, or has gone.
    std::function<void()> answered;
  };

  // All arguments must outlive the service. Sessions are suspended to files in
  // `suspend_directory`; empty: to host memory only.
  AdminService(supervisor::SessionRegistry& registry,
               const CompilerPool& compilers, CompileCache& cache,
               DiskCache& disk_cache, TenantAdmin& tenants,
               const Callers& callers, CallThreads& threads,
               std::string suspend_directory, UpgradeCalls upgrade);
  ~AdminService() override;

  // Serves every tenant; does not wait.
  grpc::ServerUnaryReactor* GetServerInfo(
      grpc::CallbackServerContext* context,
      const v1::GetServerInfoRequest* request,
      v1::GetServerInfoResponse* response) override;
  // Pauses or resumes the opening of sessions, and records that at once for the
  // next daemon. After a pause, waits until no session is left, which may take
  // hours.
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  // The reason has at most 256 bytes.
  grpc::ServerUnaryReactor* EndSession(
      grpc::CallbackServerContext* context,
      const v1::EndSessionRequest* request,
      v1::EndSessionResponse* response) override;
  grpc::ServerUnaryReactor* GetCacheStatistics(
      grpc::CallbackServerContext* context,
      const v1::GetCacheStatisticsRequest* request,
      v1::GetCacheStatisticsResponse* response) override;
  // Lists at most 10000 entries, last used first. An operator sees all entries;
  // other callers see the entries of their own compilations.
  grpc::ServerUnaryReactor* ListCacheEntries(
      grpc::CallbackServerContext* context,
      const v1::ListCacheEntriesRequest* request,
      v1::ListCacheEntriesResponse* response) override;
  grpc::ServerUnaryReactor* ClearCache(
      grpc::CallbackServerContext* context,
      const v1::ClearCacheRequest* request,
      v1::ClearCacheResponse* response) override;
  // Sets the quota of the session if the request names one, otherwise of a
  // tenant.
  grpc::ServerUnaryReactor* SetQuota(grpc::CallbackServerContext* context,
                                     const v1::SetQuotaRequest* request,
                                     v1::SetQuotaResponse* response) override;
  grpc::ServerUnaryReactor* CreateTenant(
      grpc::CallbackServerContext* context,
      const v1::CreateTenantRequest* request,
      v1::CreateTenantResponse* response) override;
  // Ends the tenant, and waits until its sessions have ended.
  grpc::ServerUnaryReactor* EndTenant(grpc::CallbackServerContext* context,
                                      const v1::EndTenantRequest* request,
                                      v1::EndTenantResponse* response) override;
  grpc::ServerUnaryReactor* ListTenants(
      grpc::CallbackServerContext* context,
      const v1::ListTenantsRequest* request,
      v1::ListTenantsResponse* response) override;
  // The session's work has 30 s to end, unless the request has another time.
  grpc::ServerUnaryReactor* SuspendSession(
      grpc::CallbackServerContext* context,
      const v1::SuspendSessionRequest* request,
      v1::SuspendSessionResponse* response) override;
  // Waits for the session's recovery, at most until the call's deadline.
  grpc::ServerUnaryReactor* ResumeSession(
      grpc::CallbackServerContext* context,
      const v1::ResumeSessionRequest* request,
      v1::ResumeSessionResponse* response) override;
  // Answers once the upgrade is prepared. The new binary takes over after the
  // answer was sent (UpgradeCalls).
  grpc::ServerUnaryReactor* Upgrade(grpc::CallbackServerContext* context,
                                    const v1::UpgradeRequest* request,
                                    v1::UpgradeResponse* response) override;

 private:
  // Carries out the change `act` of an operator by `make`, which may wait, and
  // writes its outcome to the audit log. Refuses it to other callers. `object`
  // names what is changed, and must live as long as the request.
  template <typename Make>
  grpc::ServerUnaryReactor* Act(grpc::CallbackServerContext* context,
                                const char* act, const std::string& object,
                                Make make);

  // Returns the path of the file for a suspended session. FAILED_PRECONDITION:
  // the daemon has no directory for files. INVALID_ARGUMENT: `file` is not a
  // plain name.
  absl::StatusOr<std::string> SuspensionPath(const std::string& file) const;

  supervisor::SessionRegistry& registry_;
  const CompilerPool& compilers_;
  CompileCache& cache_;
  DiskCache& disk_cache_;
  TenantAdmin& tenants_;
  const Callers& callers_;
  CallThreads& threads_;
  const std::string suspend_directory_;
  const UpgradeCalls upgrade_;
  const absl::Time started_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_ADMIN_SERVICE_H_
