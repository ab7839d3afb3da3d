// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "holdfast/v1/objects.pb.h"
#include "server/objects/object_store.h"
#include "server/rpc/fair_share.h"
#include "server/rpc/stall_guard.h"
#include "server/services/object_transfers.h"

namespace holdfast {

// One PutObject call. Writes each part into a memfd when it arrives, and no
// thread waits for the next part. Deletes itself when the call is over.
//
// The client sends the header first, then parts with exactly the header's size
// in sum. The object is in the store once the call has ended with OK.
class ObjectUpload final
    : public grpc::ServerReadReactor<v1::PutObjectRequest> {
 public:
  // Begins to read. `store` and `transfers` must outlive the call.
  // RESOURCE_EXHAUSTED: the client has too many open transfers.
  ObjectUpload(grpc::CallbackServerContext* context, const std::string& client,
               ObjectStore& store, ObjectTransfers& transfers,
               v1::PutObjectResponse* response);

  // Handles one message.
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  // The client has the stall guard's time for the next message.
  void Read();
  // Handles the header. RESOURCE_EXHAUSTED: its size is over the client's share
  // of the bytes of unfinished uploads.
  absl::Status Begin();
  // Appends a part. INVALID_ARGUMENT: no data, or more than kMaxPartBytes.
  absl::Status Append();
  // Stores the object. INVALID_ARGUMENT: the bytes do not have the header's
  // hash.
  absl::Status Complete();

  grpc::CallbackServerContext& context_;
  ObjectStore& store_;
  ObjectTransfers& transfers_;
  v1::PutObjectResponse& response_;
  ShareHold stream_;
  ShareHold bytes_;  // as announced
  v1::PutObjectRequest part_;
  v1::ObjectHeader header_;
  std::unique_ptr<ObjectWriter> writer_;    // after the header
  std::optional<StallGuard::Watch> watch_;  // while a part is awaited
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_
