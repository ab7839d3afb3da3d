// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_

#include "holdfast/v1/sharing.grpc.pb.h"

namespace holdfast {

// Answers that sharing is not served.
class SharingService final : public v1::SharingService::Service {
 public:
  grpc::Status ExportBuffer(grpc::ServerContext* context,
                            const v1::ExportBufferRequest* request,
                            v1::ExportBufferResponse* response) override;
  grpc::Status ImportBuffer(grpc::ServerContext* context,
                            const v1::ImportBufferRequest* request,
                            v1::ImportBufferResponse* response) override;
  grpc::Status ExportEvent(grpc::ServerContext* context,
                           const v1::ExportEventRequest* request,
                           v1::ExportEventResponse* response) override;
  grpc::Status ImportEvent(grpc::ServerContext* context,
                           const v1::ImportEventRequest* request,
                           v1::ImportEventResponse* response) override;
  grpc::Status RevokeExport(grpc::ServerContext* context,
                            const v1::RevokeExportRequest* request,
                            v1::RevokeExportResponse* response) override;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_SHARING_SERVICE_H_
