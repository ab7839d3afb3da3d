// SPDX-License-Identifier: Apache-2.0
#include "server/services/forwarded_service.h"

#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/rpc/session_token.h"
#include "server/rpc/status_conversion.h"
#include "server/services/execute_call.h"
#include "server/services/forwarded_call.h"

namespace holdfast {
namespace {

using grpc::ByteBuffer;
using Reactor = grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>;

constexpr absl::Duration kStallLimit = absl::Minutes(1);

// A call that ends before it begins.
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& status) {
    Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }
};

absl::StatusOr<std::shared_ptr<supervisor::Session>> SessionOf(
    const supervisor::SessionRegistry& registry,
    const grpc::CallbackServerContext& context) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, SessionTokenOf(context));
  HOLDFAST_ASSIGN_OR_RETURN(auto session, registry.Find(token));
  HOLDFAST_RETURN_IF_ERROR(session->Serving());
  return session;
}

std::optional<TransferDirection> DirectionOf(
    const google::protobuf::MethodDescriptor& method) {
  using internal::BeginTransfer;
  if (method.client_streaming()) return BeginTransfer::DIRECTION_UPLOAD;
  if (method.server_streaming()) return BeginTransfer::DIRECTION_DOWNLOAD;
  return std::nullopt;
}

}  // namespace

Reactor* ForwardedService::Forward(const supervisor::SessionRegistry& registry,
                                   const Method& method,
                                   grpc::CallbackServerContext* context) {
  auto session = SessionOf(registry, *context);
  if (!session.ok()) return new RefusedCall(session.status());
  if (method.is_execute) {
    auto place = (*session)->execute_calls().Take();
    if (!place.ok()) return new RefusedCall(place.status());
    return new ExecuteCall(context, method.name, *std::move(session),
                           *std::move(place), stall_guard_);
  }
  if (method.direction.has_value()) {
    auto lease = (*session)->transfer_pipes().Take();
    if (!lease.ok()) return new RefusedCall(lease.status());
    return RelayTransfer(context, *method.direction, *std::move(session),
                         *std::move(lease), stall_guard_, transfer_threads_);
  }
  return new ForwardedCall(context, method.name, *std::move(session),
                           stall_guard_, threads_);
}

ForwardedService::ForwardedService(
    const google::protobuf::ServiceDescriptor& descriptor,
    const supervisor::SessionRegistry& registry, Traffic traffic,
    CallThreads& threads)
    : threads_(threads), stall_guard_(kStallLimit) {
  for (int i = 0; i < descriptor.method_count(); ++i) {
    Method& method = methods_.emplace_back();
    method.name = absl::StrCat("/", descriptor.full_name(), "/",
                               descriptor.method(i)->name());
    method.is_execute = traffic == Traffic::kCommands &&
                        descriptor.method(i)->client_streaming();
    if (traffic == Traffic::kBytes) {
      method.direction = DirectionOf(*descriptor.method(i));
    }
    AddMethod(new grpc::internal::RpcServiceMethod(
        method.name.c_str(), grpc::internal::RpcMethod::BIDI_STREAMING,
        nullptr));
    MarkMethodRawCallback(
        i,
        new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
            [this, &registry, &method](grpc::CallbackServerContext* context) {
              return Forward(registry, method, context);
            }));
  }
}

}  // namespace holdfast
