// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_

#include <string>

#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/rpc/call_threads.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/memory_ledger.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Opening, closing and listing wait for processes, so they have threads of
// their own; KeepAlive streams are many and mostly silent, and have none.
class SessionService final : public v1::SessionService::CallbackService {
 public:
  // All must outlive the service. With `list_all`, ListSessions shows every
  // session to every client; else only operators see more than their tenant's.
  SessionService(supervisor::SessionRegistry& registry, const Callers& callers,
                 CallThreads& threads, const supervisor::MemoryLedger& ledger,
                 const ExportRegistry& exports, bool list_all)
      : registry_(registry),
        callers_(callers),
        threads_(threads),
        ledger_(ledger),
        exports_(exports),
        list_all_(list_all) {}

  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* context,
      const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override;
  grpc::ServerUnaryReactor* AttachSession(
      grpc::CallbackServerContext* context,
      const v1::AttachSessionRequest* request,
      v1::AttachSessionResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(
      grpc::CallbackServerContext* context,
      const v1::CloseSessionRequest* request,
      v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* AcknowledgeFault(
      grpc::CallbackServerContext* context,
      const v1::AcknowledgeFaultRequest* request,
      v1::AcknowledgeFaultResponse* response) override;
  grpc::ServerUnaryReactor* ListSessions(
      grpc::CallbackServerContext* context,
      const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override;
  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>*
  KeepAlive(grpc::CallbackServerContext* context) override;

 private:
  absl::Status Open(const grpc::ServerContextBase& context,
                    const Caller& caller, const v1::OpenSessionRequest& request,
                    v1::OpenSessionResponse* response);
  // Gives the caller a session of its tenant's by name.
  absl::Status TakeUp(const grpc::ServerContextBase& context,
                      const Caller& caller, const std::string& session_id,
                      v1::AttachSessionResponse* response);

  supervisor::SessionRegistry& registry_;
  const Callers& callers_;
  CallThreads& threads_;
  const supervisor::MemoryLedger& ledger_;
  const ExportRegistry& exports_;
  const bool list_all_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
