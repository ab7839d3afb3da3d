// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "holdfast/v1/objects.pb.h"
#include "server/compile/object_store.h"
#include "server/rpc/fair_share.h"
#include "server/rpc/stall_guard.h"
#include "server/services/object_transfers.h"

namespace holdfast {

// One PutObject: parts go into a memfd as they come, and no thread waits for
// the next one. Deletes itself when the call is over.
class ObjectUpload final
    : public grpc::ServerReadReactor<v1::PutObjectRequest> {
 public:
  // `store` and `transfers` must outlive the call.
  ObjectUpload(grpc::CallbackServerContext* context, const std::string& client,
               ObjectStore& store, ObjectTransfers& transfers,
               v1::PutObjectResponse* response);

  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void Read();
  absl::Status Begin();
  absl::Status Append();
  absl::Status Complete();

  grpc::CallbackServerContext& context_;
  ObjectStore& store_;
  ObjectTransfers& transfers_;
  v1::PutObjectResponse& response_;
  ShareHold stream_;
  ShareHold bytes_;  // as announced
  v1::PutObjectRequest part_;
  v1::ObjectHeader header_;
  std::unique_ptr<ObjectWriter> writer_;    // once the header is there
  std::optional<StallGuard::Watch> watch_;  // while a part is awaited
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_
