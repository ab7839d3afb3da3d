// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_OBJECT_DOWNLOAD_H_
#define HOLDFAST_SERVER_SERVICES_OBJECT_DOWNLOAD_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "holdfast/v1/objects.pb.h"
#include "server/objects/object_store.h"
#include "server/rpc/fair_share.h"
#include "server/rpc/stall_guard.h"
#include "server/services/object_transfers.h"

namespace holdfast {

// One GetObject call. Sends one part at a time, and no thread waits for the
// client. The object deletes itself when the call is over.
//
// Sends the header first, then parts of kMaxPartBytes directly from the store's
// memory, which the call keeps alive.
class ObjectDownload final
    : public grpc::ServerWriteReactor<v1::GetObjectResponse> {
 public:
  // Begins to send. `transfers` must outlive the call. The call ends with
  // NOT_FOUND if the store does not have the object, and with
  // RESOURCE_EXHAUSTED if the client has too many open transfers.
  ObjectDownload(grpc::CallbackServerContext* context,
                 const std::string& client, absl::string_view sha256,
                 ObjectStore& store, ObjectTransfers& transfers);

  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  // Maps the object and puts its header into the first part.
  absl::Status Begin(absl::string_view sha256, ObjectStore& store);
  // Starts to send part_. The stall guard cancels the call if the client does
  // not take the part in time.
  void Write();

  grpc::CallbackServerContext& context_;
  ObjectTransfers& transfers_;
  ShareHold stream_;
  std::shared_ptr<const StoredObject> object_;
  FileMapping mapping_;
  absl::string_view left_;  // the bytes of mapping_ that are not sent yet
  v1::GetObjectResponse part_;
  std::optional<StallGuard::Watch> watch_;  // while a part is being sent
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_OBJECT_DOWNLOAD_H_
