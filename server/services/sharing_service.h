// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_

#include "holdfast/v1/sharing.grpc.pb.h"

namespace holdfast {

// Answers that sharing is not served.
class SharingService final : public v1::SharingService::CallbackService {
 public:
  grpc::ServerUnaryReactor* ExportBuffer(
      grpc::CallbackServerContext* context,
      const v1::ExportBufferRequest* request,
      v1::ExportBufferResponse* response) override;
  grpc::ServerUnaryReactor* ImportBuffer(
      grpc::CallbackServerContext* context,
      const v1::ImportBufferRequest* request,
      v1::ImportBufferResponse* response) override;
  grpc::ServerUnaryReactor* ExportEvent(
      grpc::CallbackServerContext* context,
      const v1::ExportEventRequest* request,
      v1::ExportEventResponse* response) override;
  grpc::ServerUnaryReactor* ImportEvent(
      grpc::CallbackServerContext* context,
      const v1::ImportEventRequest* request,
      v1::ImportEventResponse* response) override;
  grpc::ServerUnaryReactor* RevokeExport(
      grpc::CallbackServerContext* context,
      const v1::RevokeExportRequest* request,
      v1::RevokeExportResponse* response) override;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_
