// SPDX-License-Identifier: Apache-2.0
#include "server/services/object_service.h"

#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

constexpr size_t kMaxPartBytes = 1 << 20;
constexpr int kMaxAsked = 1024;

using Object = std::shared_ptr<const StoredObject>;

absl::StatusOr<Object> Receive(
    grpc::ServerReader<v1::PutObjectRequest>* reader) {
  v1::PutObjectRequest part;
  if (!reader->Read(&part) || !part.has_header()) {
    return absl::InvalidArgumentError(
        "the first message of PutObject must hold the header");
  }
  const v1::ObjectHeader header = part.header();
  HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(header.size()));
  while (reader->Read(&part)) {
    if (part.part_case() != v1::PutObjectRequest::kData) {
      return absl::InvalidArgumentError("a second header in PutObject");
    }
    if (part.data().size() > kMaxPartBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a part of ", part.data().size(),
                       " bytes, the limit is ", kMaxPartBytes));
    }
    HOLDFAST_RETURN_IF_ERROR(writer->Append(part.data()));
  }
  HOLDFAST_ASSIGN_OR_RETURN(Object object,
                            writer->Finish(header.format(), header.symbols()));
  if (object->header.sha256() != header.sha256()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bytes have the SHA-256 ",
                     absl::BytesToHexString(object->header.sha256()),
                     ", the header announced \"",
                     absl::BytesToHexString(header.sha256()), "\""));
  }
  return object;
}

}  // namespace

grpc::Status ObjectService::PutObject(
    grpc::ServerContext*, grpc::ServerReader<v1::PutObjectRequest>* reader,
    v1::PutObjectResponse* response) {
  const absl::StatusOr<Object> object = Receive(reader);
  if (!object.ok()) return ToGrpcStatus(object.status());
  response->set_sha256((*object)->header.sha256());
  response->set_existed(store_.Put(*object, ObjectStore::Origin::kClient));
  return grpc::Status::OK;
}

grpc::Status ObjectService::GetObject(
    grpc::ServerContext*, const v1::GetObjectRequest* request,
    grpc::ServerWriter<v1::GetObjectResponse>* writer) {
  const absl::StatusOr<Object> object = store_.Get(request->sha256());
  if (!object.ok()) return ToGrpcStatus(object.status());
  const auto mapping =
      FileMapping::Map((*object)->memory.get(), FileMapping::Access::kReadOnly);
  if (!mapping.ok()) return ToGrpcStatus(mapping.status());
  v1::GetObjectResponse part;
  *part.mutable_header() = (*object)->header;
  absl::string_view left = mapping->bytes();
  while (writer->Write(part) && !left.empty()) {
    const absl::string_view data = left.substr(0, kMaxPartBytes);
    part.set_data(data.data(), data.size());
    left.remove_prefix(data.size());
  }
  return grpc::Status::OK;
}

grpc::Status ObjectService::HasObjects(grpc::ServerContext*,
                                       const v1::HasObjectsRequest* request,
                                       v1::HasObjectsResponse* response) {
  if (request->sha256_size() > kMaxAsked) {
    return ToGrpcStatus(absl::InvalidArgumentError(
        absl::StrCat(request->sha256_size(),
                     " objects asked for, the limit is ", kMaxAsked)));
  }
  for (const std::string& sha256 : request->sha256()) {
    response->add_stored(store_.Has(sha256));
  }
  return grpc::Status::OK;
}

}  // namespace holdfast
