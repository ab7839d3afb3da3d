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

// One PutObject: parts go into a memfd as they come, and no thread waits for
// the next one. Deletes itself when the call is over.
//
// Header first, then parts, whose sum is the header's size. The object is in
// the store when the call has ended with OK, and not before.
class ObjectUpload final
    : public grpc::ServerReadReactor<v1::PutObjectRequest> {
 public:
  // `store` and `transfers` must outlive the call. Starts to read.
  // RESOURCE_EXHAUSTED: the client has too many transfers open.
  ObjectUpload(grpc::CallbackServerContext* context, const std::string& client,
               ObjectStore& store, ObjectTransfers& transfers,
               v1::PutObjectResponse* response);

  // gRPC calls it for one message after the other.
  void OnReadDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  // The client has the stall guard's time for the next message.
  void Read();
  // Takes the header. RESOURCE_EXHAUSTED: its size is over the client's share
  // of bytes that may be on their way.
  absl::Status Begin();
  // INVALID_ARGUMENT: no data, or a part of more than kMaxPartBytes.
  absl::Status Append();
  // INVALID_ARGUMENT: the bytes have another hash than the header says.
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
