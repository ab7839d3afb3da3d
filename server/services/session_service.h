// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_

#include <string>

#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/memory/memory_ledger.h"
#include "server/rpc/call_threads.h"
#include "server/sharing/export_registry.h"
#include "server/supervisor/session_registry.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Opening, closing and listing wait for processes, so they have threads of
// their own; KeepAlive streams are many and mostly silent, and have none.
//
// A session's rpcs name it by the token in their metadata; only AttachSession
// can name it by its id, for the tenant's other clients.
class SessionService final : public v1::SessionService::CallbackService {
 public:
  // All must outlive the service. With `list_all`, ListSessions shows every
  // session to every client; else only operators see more than their tenant's.
  SessionService(supervisor::SessionRegistry& registry, const Callers& callers,
                 CallThreads& threads, const MemoryLedger& ledger,
                 const ExportRegistry& exports, bool list_all);
  ~SessionService() override;

  // Waits for an executor, 2 minutes at most. While the daemon makes way for
  // another, the answer tells clients to try again after 100 ms.
  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* context,
      const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override;
  // By token: the client is back. By id: takes it up; NOT_FOUND for sessions of
  // other tenants, as for those that are not there.
  grpc::ServerUnaryReactor* AttachSession(
      grpc::CallbackServerContext* context,
      const v1::AttachSessionRequest* request,
      v1::AttachSessionResponse* response) override;
  // Returns when the executor has ended.
  grpc::ServerUnaryReactor* CloseSession(
      grpc::CallbackServerContext* context,
      const v1::CloseSessionRequest* request,
      v1::CloseSessionResponse* response) override;
  // Waits for the recovery, 2 minutes at most.
  grpc::ServerUnaryReactor* AcknowledgeFault(
      grpc::CallbackServerContext* context,
      const v1::AcknowledgeFaultRequest* request,
      v1::AcknowledgeFaultResponse* response) override;
  // Also the sums of the ledger and of exports without a session.
  grpc::ServerUnaryReactor* ListSessions(
      grpc::CallbackServerContext* context,
      const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override;
  // Holds no thread; see KeepAliveStream.
  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>*
  KeepAlive(grpc::CallbackServerContext* context) override;

 private:
  // Fills in everything about the new session, the local addresses only for
  // clients on this machine.
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
  const MemoryLedger& ledger_;
  const ExportRegistry& exports_;
  const bool list_all_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
