// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_SERVICE_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_SERVICE_H_

#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/executor/descriptor_inbox.h"
#include "server/executor/session.h"

namespace holdfast::executor {

// TransferService of one session; that and the inbox must outlive it. Bytes
// pass through page-locked staging blocks: while one message is on its way to
// or from the device, the next is being read from or written to the network.
class TransferService final : public v1::TransferService::Service {
 public:
  TransferService(Session& session, DescriptorInbox& inbox)
      : session_(session), inbox_(inbox) {}

  grpc::Status Upload(grpc::ServerContext* context,
                      grpc::ServerReader<v1::UploadRequest>* reader,
                      v1::UploadResponse* response) override;
  grpc::Status Download(
      grpc::ServerContext* context, const v1::DownloadRequest* request,
      grpc::ServerWriter<v1::DownloadResponse>* writer) override;
  grpc::Status RegisterArena(grpc::ServerContext* context,
                             const v1::RegisterArenaRequest* request,
                             v1::RegisterArenaResponse* response) override;

 private:
  Session& session_;
  DescriptorInbox& inbox_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_SERVICE_H_
