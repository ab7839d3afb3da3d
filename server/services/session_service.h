// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_

#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/peer_table.h"
#include "server/supervisor/memory_ledger.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Opening, closing and listing wait for processes, so they have threads of
// their own; KeepAlive streams are many and mostly silent, and have none.
class SessionService final : public v1::SessionService::CallbackService {
 public:
  // All must outlive the service. With `list_all`, ListSessions shows every
  // session to every client; else only the daemon's own user and root, on a
  // Unix socket, see more than their own.
  SessionService(SessionRegistry& registry, const PeerTable& peers,
                 CallThreads& threads, const MemoryLedger& ledger,
                 bool list_all)
      : registry_(registry),
        peers_(peers),
        threads_(threads),
        ledger_(ledger),
        list_all_(list_all) {}

  grpc::ServerUnaryReactor* OpenSession(
      grpc::CallbackServerContext* context,
      const v1::OpenSessionRequest* request,
      v1::OpenSessionResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(
      grpc::CallbackServerContext* context,
      const v1::CloseSessionRequest* request,
      v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* ListSessions(
      grpc::CallbackServerContext* context,
      const v1::ListSessionsRequest* request,
      v1::ListSessionsResponse* response) override;
  grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>*
  KeepAlive(grpc::CallbackServerContext* context) override;

 private:
  absl::Status Open(const grpc::ServerContextBase& context,
                    const v1::OpenSessionRequest& request,
                    v1::OpenSessionResponse* response);

  SessionRegistry& registry_;
  const PeerTable& peers_;
  CallThreads& threads_;
  const MemoryLedger& ledger_;
  const bool list_all_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SESSION_SERVICE_H_
