// SPDX-License-Identifier: Apache-2.0
#include "server/services/session_service.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"
#include "server/rpc/session_token.h"
#include "server/rpc/status_conversion.h"
#include "server/services/keep_alive_stream.h"

namespace holdfast {
namespace {

constexpr absl::Duration kOpenLimit = absl::Minutes(2);

using KeepAliveReactor =
    grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>;

class RefusedKeepAlive final : public KeepAliveReactor {
 public:
  explicit RefusedKeepAlive(const absl::Status& status) {
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

absl::StatusOr<std::shared_ptr<Session>> SessionOf(
    const SessionRegistry& registry, const grpc::ServerContextBase& context) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, SessionTokenOf(context));
  return registry.Find(token);
}

v1::SessionLimits Limits(const SessionQuotas& quotas) {
  v1::SessionLimits limits;
  limits.set_max_batch_commands(kMaxBatchCommands);
  limits.set_max_message_bytes(kMaxMessageBytes);
  limits.set_max_inline_bytes(kMaxInlineBytes);
  limits.set_max_chunk_bytes(kMaxChunkBytes);
  limits.set_max_handles(quotas.handles);
  return limits;
}

}  // namespace

grpc::Status SessionService::OpenSession(grpc::ServerContext* context,
                                         const v1::OpenSessionRequest* request,
                                         v1::OpenSessionResponse* response) {
  const absl::Time deadline =
      std::min(absl::FromChrono(context->deadline()), absl::Now() + kOpenLimit);
  const auto opened =
      registry_.Open(*request, peers_.Describe(context->peer()), deadline);
  if (!opened.ok()) return ToGrpcStatus(opened.status());
  response->set_session_id(opened->session->id());
  response->set_token(opened->token);
  if (PeerTable::IsLocal(context->peer())) {
    response->set_local_address(opened->session->local_address());
    response->set_descriptor_address(opened->session->descriptor_address());
  }
  *response->mutable_limits() = Limits(registry_.quotas());
  return grpc::Status::OK;
}

grpc::Status SessionService::CloseSession(grpc::ServerContext* context,
                                          const v1::CloseSessionRequest*,
                                          v1::CloseSessionResponse*) {
  const auto session = SessionOf(registry_, *context);
  if (!session.ok()) return ToGrpcStatus(session.status());
  registry_.Close(**session, "");
  return grpc::Status::OK;
}

grpc::Status SessionService::ListSessions(grpc::ServerContext*,
                                          const v1::ListSessionsRequest*,
                                          v1::ListSessionsResponse* response) {
  for (const auto& session : registry_.List()) {
    *response->add_sessions() = session->Info();
  }
  ledger_.Report(response->mutable_totals());
  return grpc::Status::OK;
}

KeepAliveReactor* SessionService::KeepAlive(
    grpc::CallbackServerContext* context) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return new RefusedKeepAlive(session.status());
  return new KeepAliveStream(*std::move(session));
}

}  // namespace holdfast
