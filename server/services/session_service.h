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
// so they run in `threads`. KeepAlive streams are many and mostly idle, so they
// take no thread.
//
// An rpc names its session by the token in its metadata. Only AttachSession can
// also name a session by its id, so that another client of the tenant can take
// the session over ("take it up").
class SessionService final : public v1::SessionService::CallbackService {
 public:
  // All arguments must outlive the service. With `list_all`, ListSessions shows
  // every session to every client. Otherwise only operators see all sessions,
  // and other clients see the sessions of their tenant.
  SessionService(supervisor::SessionRegistry& registry, const Callers& callers,
                 CallThreads& threads, const MemoryLedger& ledger,
                 const ExportRegistry& exports, bool list_all);
  ~SessionService() override;

  // Opens a session; waits for an executor, for at most 2 minutes. While the
  // daemon is being replaced, fails with metadata that lets clients try again
  // after 100 ms.
  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* context,
      const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override;
  // With a token, notes that the session's client has returned. With an id,
  // lets another client take the session up. NOT_FOUND: there is no such
  // session, or it belongs to another tenant.
  grpc::ServerUnaryReactor* AttachSession(
      grpc::CallbackServerContext* context,
      const v1::AttachSessionRequest* request,
      v1::AttachSessionResponse* response) override;
  // Closes the session; waits until its executor has ended.
  grpc::ServerUnaryReactor* CloseSession(
      grpc::CallbackServerContext* context,
      const v1::CloseSessionRequest* request,
      v1::CloseSessionResponse* response) override;
  // Accepts a fault or a suspension; waits for the recovery, for at most 2
  // minutes.
  grpc::ServerUnaryReactor* AcknowledgeFault(
      grpc::CallbackServerContext* context,
      const v1::AcknowledgeFaultRequest* request,
      v1::AcknowledgeFaultResponse* response) override;
  // Lists sessions. Also returns the sums of the ledger, and of exported memory
  // whose session has ended.
  grpc::ServerUnaryReactor* ListSessions(
      grpc::CallbackServerContext* context,
      const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override;
  // Takes no thread while the stream is open; see KeepAliveStream.
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
