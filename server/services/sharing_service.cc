// SPDX-License-Identifier: Apache-2.0
#include "server/services/sharing_service.h"

namespace holdfast {
namespace {

grpc::Status NotServed() {
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                      "this daemon does not share buffers or events between "
                      "sessions; copy through the client");
}

}  // namespace

grpc::Status SharingService::ExportBuffer(grpc::ServerContext*,
                                          const v1::ExportBufferRequest*,
                                          v1::ExportBufferResponse*) {
  return NotServed();
}

grpc::Status SharingService::ImportBuffer(grpc::ServerContext*,
                                          const v1::ImportBufferRequest*,
                                          v1::ImportBufferResponse*) {
  return NotServed();
}

grpc::Status SharingService::ExportEvent(grpc::ServerContext*,
                                         const v1::ExportEventRequest*,
                                         v1::ExportEventResponse*) {
  return NotServed();
}

grpc::Status SharingService::ImportEvent(grpc::ServerContext*,
                                         const v1::ImportEventRequest*,
                                         v1::ImportEventResponse*) {
  return NotServed();
}

grpc::Status SharingService::RevokeExport(grpc::ServerContext*,
                                          const v1::RevokeExportRequest*,
                                          v1::RevokeExportResponse*) {
  return NotServed();
}

}  // namespace holdfast
