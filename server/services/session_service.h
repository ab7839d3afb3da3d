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

// Serves sessions. Calls that open, close or list sessions wait for processes,
// so they run in `threads`. KeepAlive streams are many and mostly idle, and
// need no thread.
//
// An rpc names its session by the token in its metadata. Only AttachSession can
// name a session by its id, for other clients of the tenant.
class SessionService final : public v1::SessionService::CallbackService {
 public:
  // All arguments must outlive the service. With `list_all`, ListSessions shows
  // every session to every client. Otherwise only operators see all sessions,
  // and other clients see their tenant's.
  SessionService(supervisor::SessionRegistry& registry, const Callers& callers,
                 CallThreads& threads, const MemoryLedger& ledger,
                 const ExportRegistry& exports, bool list_all);
  ~SessionService() override;

  // Waits for an executor, for at most 2 minutes. While the daemon is being
  // replaced, tells clients to try again after 100 ms.
  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* context,
      const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override;
  // With a token, the session's client has returned. With an id, another client
  // takes the session up. NOT_FOUND: there is no such session, or it belongs to
  // another tenant.
  grpc::ServerUnaryReactor* AttachSession(
      grpc::CallbackServerContext* context,
      const v1::AttachSessionRequest* request,
      v1::AttachSessionResponse* response) override;
  // Returns when the executor has ended.
  grpc::ServerUnaryReactor* CloseSession(
      grpc::CallbackServerContext* context,
      const v1::CloseSessionRequest* request,
      v1::CloseSessionResponse* response) override;
  // Waits for the recovery, for at most 2 minutes.
  grpc::ServerUnaryReactor* AcknowledgeFault(
      grpc::CallbackServerContext* context,
      const v1::AcknowledgeFaultRequest* request,
      v1::AcknowledgeFaultResponse* response) override;
  // Also returns the sums of the ledger, and of exports without a session.
  grpc::ServerUnaryReactor* ListSessions(
      grpc::CallbackServerContext* context,
      const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override;
  // Holds no thread; see KeepAliveStream.
  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>*
  KeepAlive(grpc::CallbackServerContext* context) override;

 private:
  // Opens the session and fills in the response. Only clients on this machine
  // get the local addresses.
  absl::Status Open(const grpc::ServerContextBase& context,
                    const Caller& caller, const v1::OpenSessionRequest& request,
                    v1::OpenSessionResponse* response);
  // Gives the caller a detached session of its tenant by its id.
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
