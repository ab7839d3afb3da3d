// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_

#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/rpc/peer_table.h"
#include "server/supervisor/memory_ledger.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// KeepAlive streams are many and mostly silent, so they have no threads of
// their own; the other calls may wait for a process and have.
class SessionService final
    : public v1::SessionService::WithCallbackMethod_KeepAlive<
          v1::SessionService::Service> {
 public:
  // All must outlive the service.
  SessionService(SessionRegistry& registry, const PeerTable& peers,
                 const MemoryLedger& ledger)
      : registry_(registry), peers_(peers), ledger_(ledger) {}

  grpc::Status OpenSession(grpc::ServerContext* context,
                           const v1::OpenSessionRequest* request,
                           v1::OpenSessionResponse* response) override;
  grpc::Status CloseSession(grpc::ServerContext* context,
                            const v1::CloseSessionRequest* request,
                            v1::CloseSessionResponse* response) override;
  grpc::Status ListSessions(grpc::ServerContext* context,
                            const v1::ListSessionsRequest* request,
                            v1::ListSessionsResponse* response) override;
  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>*
  KeepAlive(grpc::CallbackServerContext* context) override;

 private:
  SessionRegistry& registry_;
  const PeerTable& peers_;
  const MemoryLedger& ledger_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
