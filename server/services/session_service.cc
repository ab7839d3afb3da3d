// SPDX-License-Identifier: Apache-2.0
#include "server/services/session_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"
#include "server/identity/peer_table.h"
#include "server/rpc/refused_stream.h"
#include "server/rpc/session_token.h"
#include "server/rpc/unary_call.h"
#include "server/services/keep_alive_stream.h"

namespace holdfast {
namespace {

// Bytes of a session's name that an error repeats.
constexpr size_t kMaxShownName = 64;

constexpr absl::Duration kOpenLimit = absl::Minutes(2);

using KeepAliveReactor =
    grpc::ServerBidiReactor<v1::KeepAliveRequest, v1::KeepAliveResponse>;

absl::StatusOr<std::shared_ptr<supervisor::Session>> SessionOf(
    const supervisor::SessionRegistry& registry,
    const grpc::ServerContextBase& context) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, SessionTokenOf(context));
  return registry.Find(token);
}

v1::SessionLimits Limits(const supervisor::SessionQuotas& quotas) {
  v1::SessionLimits limits;
  limits.set_max_batch_commands(kMaxBatchCommands);
  limits.set_max_message_bytes(kMaxMessageBytes);
  limits.set_max_inline_bytes(kMaxInlineBytes);
  limits.set_max_chunk_bytes(kMaxChunkBytes);
  limits.set_max_handles(quotas.handles);
  limits.set_max_graph_nodes(kMaxGraphNodes);
  limits.set_max_graph_edges(kMaxGraphEdges);
  limits.set_max_graph_depth(kMaxGraphDepth);
  limits.set_max_graph_branches(kMaxGraphBranches);
  return limits;
}

// All that a client is told of its session, but for the token. `local`: it is
// on this machine.
void Describe(const supervisor::Session& session, bool local,
              const supervisor::SessionQuotas& quotas,
              v1::OpenSessionResponse* response) {
  response->set_session_id(session.id());
  response->mutable_devices()->Add(session.devices().begin(),
                                   session.devices().end());
  if (local) {
    response->set_local_address(session.local_address());
    response->set_descriptor_address(session.descriptor_address());
  }
  *response->mutable_limits() = Limits(quotas);
}

}  // namespace

SessionService::SessionService(supervisor::SessionRegistry& registry,
                               const Callers& callers, CallThreads& threads,
                               const MemoryLedger& ledger,
                               const ExportRegistry& exports, bool list_all)
    : registry_(registry),
      callers_(callers),
      threads_(threads),
      ledger_(ledger),
      exports_(exports),
      list_all_(list_all) {}

SessionService::~SessionService() = default;

absl::Status SessionService::Open(const grpc::ServerContextBase& context,
                                  const Caller& caller,
                                  const v1::OpenSessionRequest& request,
                                  v1::OpenSessionResponse* response) {
  const absl::Time deadline =
      std::min(absl::FromChrono(context.deadline()), absl::Now() + kOpenLimit);
  HOLDFAST_ASSIGN_OR_RETURN(const supervisor::SessionRegistry::Opened opened,
                            registry_.Open(request, caller, deadline));
  Describe(*opened.session, PeerTable::IsLocal(context.peer()),
           registry_.quotas(), response);
  response->set_token(opened.token);
  response->set_tenant(caller.tenant->name());
  response->set_epoch(1);
  callers_.RecordSession(context, caller, opened.session->id());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* SessionService::OpenSession(
    grpc::CallbackServerContext* context, const v1::OpenSessionRequest* request,
    v1::OpenSessionResponse* response) {
  auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  return AnswerInThread(
      context, threads_, caller->client(),
      [this, context, caller = *caller, request, response] {
        const absl::Status status = Open(*context, caller, *request, response);
        if (absl::IsUnavailable(status) && registry_.restarting()) {
          // gRPC's own word for "try again soon".
          context->AddTrailingMetadata("grpc-retry-pushback-ms", "100");
        }
        return status;
      });
}

absl::Status SessionService::TakeUp(const grpc::ServerContextBase& context,
                                    const Caller& caller,
                                    const std::string& session_id,
                                    v1::AttachSessionResponse* response) {
  const auto found = registry_.FindById(session_id);
  // One answer for both: which names others' sessions have is not told.
  if (!found.ok() || (*found)->client() != caller.client()) {
    return absl::NotFoundError(
        absl::StrCat("there is no session ",
                     absl::CEscape(session_id.substr(0, kMaxShownName)), " of ",
                     caller.client()));
  }
  const auto& session = *found;
  HOLDFAST_ASSIGN_OR_RETURN(const supervisor::Session::TakenUp taken,
                            session->TakeUp());
  v1::OpenSessionResponse& description = *response->mutable_session();
  Describe(*session, PeerTable::IsLocal(context.peer()), registry_.quotas(),
           &description);
  description.set_token(taken.token);
  description.set_tenant(caller.tenant->name());
  description.set_epoch(taken.epoch);
  response->set_received_through(taken.received_through);
  if (taken.fault.has_value()) *response->mutable_fault() = *taken.fault;
  callers_.RecordSession(context, caller, session->id());
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* SessionService::AttachSession(
    grpc::CallbackServerContext* context,
    const v1::AttachSessionRequest* request,
    v1::AttachSessionResponse* response) {
  if (!request->session_id().empty()) {
    auto caller = callers_.Of(*context);
    if (!caller.ok()) return Answer(context, caller.status());
    return AnswerInThread(context, threads_, caller->client(),
                          [this, context, caller = *caller, request, response] {
                            return TakeUp(*context, caller,
                                          request->session_id(), response);
                          });
  }
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return Answer(context, session.status());
  return AnswerInThread(
      context, threads_, (*session)->client(),
      [this, context, response, session = *session]() -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(session->Serving());
        session->NoteAttach();
        Describe(*session, PeerTable::IsLocal(context->peer()),
                 registry_.quotas(), response->mutable_session());
        HOLDFAST_ASSIGN_OR_RETURN(const uint64_t received,
                                  session->ReceivedThrough());
        response->set_received_through(received);
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* SessionService::CloseSession(
    grpc::CallbackServerContext* context, const v1::CloseSessionRequest*,
    v1::CloseSessionResponse*) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return Answer(context, session.status());
  return AnswerInThread(context, threads_, (*session)->client(),
                        [this, session = *session] {
                          registry_.Close(*session, "");
                          return absl::OkStatus();
                        });
}

grpc::ServerUnaryReactor* SessionService::AcknowledgeFault(
    grpc::CallbackServerContext* context,
    const v1::AcknowledgeFaultRequest* request,
    v1::AcknowledgeFaultResponse* response) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) return Answer(context, session.status());
  return AnswerInThread(
      context, threads_, (*session)->client(),
      [context, request, response, session = *session]() -> absl::Status {
        const absl::Time deadline = std::min(
            absl::FromChrono(context->deadline()), absl::Now() + kOpenLimit);
        HOLDFAST_ASSIGN_OR_RETURN(
            *response, session->AcknowledgeFault(request->epoch(), deadline));
        return absl::OkStatus();
      });
}

grpc::ServerUnaryReactor* SessionService::ListSessions(
    grpc::CallbackServerContext* context, const v1::ListSessionsRequest*,
    v1::ListSessionsResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  const std::string& client = caller->client();
  const bool all = list_all_ || caller->is_operator();
  return AnswerInThread(context, threads_, client,
                        [this, client, all, response] {
                          for (const auto& session : registry_.List()) {
                            if (!all && session->client() != client) continue;
                            *response->add_sessions() = session->Info();
                          }
                          ledger_.Report(response->mutable_totals());
                          exports_.ReportOrphans(response->mutable_totals());
                          return absl::OkStatus();
                        });
}

KeepAliveReactor* SessionService::KeepAlive(
    grpc::CallbackServerContext* context) {
  auto session = SessionOf(registry_, *context);
  if (!session.ok()) {
    return new RefusedStream<KeepAliveReactor>(session.status());
  }
  return new KeepAliveStream(*std::move(session), registry_.outlives_kill());
}

}  // namespace holdfast
