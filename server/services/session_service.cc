// SPDX-License-Identifier: Apache-2.0
#include "server/services/session_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"
#include "server/rpc/session_token.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/unary_call.h"
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

absl::Status SessionService::Open(const grpc::ServerContextBase& context,
                                  const v1::OpenSessionRequest& request,
                                  v1::OpenSessionResponse* response) {
  const std::string peer = context.peer();
  const absl::Time deadline =
      std::min(absl::FromChrono(context.deadline()), absl::Now() + kOpenLimit);
  HOLDFAST_ASSIGN_OR_RETURN(
      const SessionRegistry::Opened opened,
      registry_.Open(request,
                     {.peer = peers_.Describe(peer),
                      .client = peers_.ClientOf(context),
                      .is_operator = peers_.IsOwner(peer)},
                     deadline));
  response->set_session_id(opened.session->id());
  response->set_token(opened.token);
  response->mutable_devices()->Add(opened.devices.begin(),
                                   opened.devices.end());
  if (PeerTable::IsLocal(peer)) {
    response->set_local_address(opened.session->local_address());
    response->set_descriptor_address(opened.session->descriptor_address());
  }
  *response->mutable_limits() = Limits(registry_.quotas());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* SessionService::OpenSession(
    grpc::CallbackServerContext* context, const v1::OpenSessionRequest* request,
    v1::OpenSessionResponse* response) {
  return AnswerInThread(context, threads_, peers_.ClientOf(*context),
                        [this, context, request, response] {
                          return Open(*context, *request, response);
                        });
}

grpc::ServerUnaryReactor* SessionService::CloseSession(
    grpc::CallbackServerContext* context, const v1::CloseSessionRequest*,
    v1::CloseSessionResponse*) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return Answer(context, session.status());
  return AnswerInThread(context, threads_, peers_.ClientOf(*context),
                        [this, session = *std::move(session)] {
                          registry_.Close(*session, "");
                          return absl::OkStatus();
                        });
}

grpc::ServerUnaryReactor* SessionService::ListSessions(
    grpc::CallbackServerContext* context, const v1::ListSessionsRequest*,
    v1::ListSessionsResponse* response) {
  const std::string client = peers_.ClientOf(*context);
  const bool all = list_all_ || peers_.IsOwner(context->peer());
  return AnswerInThread(context, threads_, client,
                        [this, client, all, response] {
                          for (const auto& session : registry_.List()) {
                            if (!all && session->client() != client) continue;
                            *response->add_sessions() = session->Info();
                          }
                          ledger_.Report(response->mutable_totals());
                          return absl::OkStatus();
                        });
}

KeepAliveReactor* SessionService::KeepAlive(
    grpc::CallbackServerContext* context) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return new RefusedKeepAlive(session.status());
  return new KeepAliveStream(*std::move(session));
}

}  // namespace holdfast
