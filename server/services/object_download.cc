// SPDX-License-Identifier: Apache-2.0
#include "server/services/object_download.h"

#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

ObjectDownload::ObjectDownload(grpc::CallbackServerContext* context,
                               const std::string& client,
                               absl::string_view sha256, ObjectStore& store,
                               ObjectTransfers& transfers)
    : context_(*context),
      transfers_(transfers),
      stream_(transfers.streams, client) {
  const absl::Status begun = Begin(sha256, store);
  begun.ok() ? Write() : Finish(ToGrpcStatus(begun));
}

absl::Status ObjectDownload::Begin(absl::string_view sha256,
                                   ObjectStore& store) {
  HOLDFAST_RETURN_IF_ERROR(stream_.Take(1));
  HOLDFAST_ASSIGN_OR_RETURN(object_, store.Get(sha256));
  HOLDFAST_ASSIGN_OR_RETURN(
      mapping_,
      FileMapping::Map(object_->memory.get(), FileMapping::Access::kReadOnly));
  left_ = mapping_.bytes();
  *part_.mutable_header() = object_->header;
  return absl::OkStatus();
}

void ObjectDownload::Write() {
  watch_.emplace(transfers_.stall_guard, context_);
  StartWrite(&part_);
}

// gRPC calls it for one part after the other.
void ObjectDownload::OnWriteDone(bool ok) {
  watch_.reset();
  if (!ok || left_.empty()) return Finish(grpc::Status::OK);
  const absl::string_view data =
      left_.substr(0, ObjectTransfers::kMaxPartBytes);
  part_.set_data(data.data(), data.size());
  left_.remove_prefix(data.size());
  Write();
}

}  // namespace holdfast
