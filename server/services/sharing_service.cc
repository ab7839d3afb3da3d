// SPDX-License-Identifier: Apache-2.0
#include "server/services/sharing_service.h"

#include "server/rpc/unary_call.h"

namespace holdfast {
namespace {

grpc::ServerUnaryReactor* NotServed(grpc::CallbackServerContext* context) {
  return Answer(context, absl::UnimplementedError(
                             "this daemon does not share buffers or events "
                             "between sessions; copy through the client"));
}

}  // namespace

grpc::ServerUnaryReactor* SharingService::ExportBuffer(
    grpc::CallbackServerContext* context, const v1::ExportBufferRequest*,
    v1::ExportBufferResponse*) {
  return NotServed(context);
}

grpc::ServerUnaryReactor* SharingService::ImportBuffer(
    grpc::CallbackServerContext* context, const v1::ImportBufferRequest*,
    v1::ImportBufferResponse*) {
  return NotServed(context);
}

grpc::ServerUnaryReactor* SharingService::ExportEvent(
    grpc::CallbackServerContext* context, const v1::ExportEventRequest*,
    v1::ExportEventResponse*) {
  return NotServed(context);
}

grpc::ServerUnaryReactor* SharingService::ImportEvent(
    grpc::CallbackServerContext* context, const v1::ImportEventRequest*,
    v1::ImportEventResponse*) {
  return NotServed(context);
}

grpc::ServerUnaryReactor* SharingService::RevokeExport(
    grpc::CallbackServerContext* context, const v1::RevokeExportRequest*,
    v1::RevokeExportResponse*) {
  return NotServed(context);
}

}  // namespace holdfast
