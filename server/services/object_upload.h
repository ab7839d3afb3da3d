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

// One PutObject call. Writes each part into a memfd when the part arrives; no
// thread waits for the next part. The object deletes itself when the call is
// over.
//
// The client sends the header first, then parts whose sizes add up exactly to
// the header's size. If the call ends with OK, the compiled object is in the
// store.
class ObjectUpload final
    : public grpc::ServerReadReactor<v1::PutObjectRequest> {
 public:
  // Begins to read. `store` and `transfers` must outlive the call. The call
  // ends with RESOURCE_EXHAUSTED if the client has too many open transfers.
  ObjectUpload(grpc::CallbackServerContext* context, const std::string& client,
               ObjectStore& store, ObjectTransfers& transfers,
               v1::PutObjectResponse* response);

  // Handles one message.
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  // Starts to read the next message. The stall guard cancels the call if the
  // message does not arrive in time.
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
  ShareHold bytes_;  // the header's size
  v1::PutObjectRequest part_;
  v1::ObjectHeader header_;
  std::unique_ptr<ObjectWriter> writer_;    // after the header
  std::optional<StallGuard::Watch> watch_;  // while a part is awaited
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_UPLOAD_H_
