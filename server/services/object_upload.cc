// SPDX-License-Identifier: Apache-2.0
#include "server/services/object_upload.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

ObjectUpload::ObjectUpload(grpc::CallbackServerContext* context,
                           const std::string& client, ObjectStore& store,
                           ObjectTransfers& transfers,
                           v1::PutObjectResponse* response)
    : context_(*context),
      store_(store),
      transfers_(transfers),
      response_(*response),
      stream_(transfers.streams, client),
      bytes_(transfers.bytes, client) {
  const absl::Status admitted = stream_.Take(1);
  admitted.ok() ? Read() : Finish(ToGrpcStatus(admitted));
}

void ObjectUpload::Read() {
  watch_.emplace(transfers_.stall_guard, context_);
  StartRead(&part_);
}

// gRPC calls it for one part after the other.
void ObjectUpload::OnReadDone(bool ok) {
  watch_.reset();
  if (!ok) return Finish(ToGrpcStatus(Complete()));
  const absl::Status taken = writer_ == nullptr ? Begin() : Append();
  taken.ok() ? Read() : Finish(ToGrpcStatus(taken));
}

absl::Status ObjectUpload::Begin() {
  if (!part_.has_header()) {
    return absl::InvalidArgumentError(
        "the first message of PutObject must hold the header");
  }
  if (part_.header().ByteSizeLong() > ObjectTransfers::kMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the object's header has ", part_.header().ByteSizeLong(),
        " bytes, the limit is ", ObjectTransfers::kMaxHeaderBytes));
  }
  header_ = std::move(*part_.mutable_header());
  HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(header_.size()));
  HOLDFAST_RETURN_IF_ERROR(bytes_.Take(header_.size()));
  writer_ = std::move(writer);
  return absl::OkStatus();
}

absl::Status ObjectUpload::Append() {
  if (part_.part_case() != v1::PutObjectRequest::kData) {
    return absl::InvalidArgumentError("a second header in PutObject");
  }
  if (part_.data().size() > ObjectTransfers::kMaxPartBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a part of ", part_.data().size(), " bytes, the limit is ",
                     ObjectTransfers::kMaxPartBytes));
  }
  return writer_->Append(part_.data());
}

absl::Status ObjectUpload::Complete() {
  if (context_.IsCancelled()) {
    return absl::CancelledError("PutObject ended before its object did");
  }
  if (writer_ == nullptr) {
    return absl::InvalidArgumentError(
        "the first message of PutObject must hold the header");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      auto object, writer_->Finish(header_.format(), header_.symbols()));
  if (object->header.sha256() != header_.sha256()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bytes have the SHA-256 ",
                     absl::BytesToHexString(object->header.sha256()),
                     ", the header announced \"",
                     absl::BytesToHexString(header_.sha256()), "\""));
  }
  response_.set_sha256(object->header.sha256());
  response_.set_existed(
      store_.Put(std::move(object), ObjectStore::Origin::kClient));
  return absl::OkStatus();
}

}  // namespace holdfast
