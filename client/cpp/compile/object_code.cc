// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/object_code.h"

#include <utility>

#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/sha256.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"

namespace holdfast {

static_assert(kPtxFormat == v1::OBJECT_FORMAT_PTX);
static_assert(kCubinFormat == v1::OBJECT_FORMAT_CUBIN);
static_assert(kLtoIrFormat == v1::OBJECT_FORMAT_LTOIR);
static_assert(kFatbinFormat == v1::OBJECT_FORMAT_FATBIN);
namespace {

absl::StatusOr<bool> IsStored(Daemon& daemon, const std::string& sha256) {
  grpc::ClientContext context;
  v1::HasObjectsRequest request;
  request.add_sha256(sha256);
  v1::HasObjectsResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(
      daemon.stubs().objects.HasObjects(&context, request, &response)));
  return response.stored_size() == 1 && response.stored(0);
}

}  // namespace

ObjectCode ObjectCode::FromHeader(const v1::ObjectHeader& header) {
  return {header.sha256(),
          header.size(),
          header.format(),
          {header.symbols().begin(), header.symbols().end()}};
}

absl::StatusOr<ObjectCode> ObjectCode::Put(
    Daemon& daemon, absl::string_view bytes, v1::ObjectFormat format,
    std::map<std::string, std::string> symbols) {
  ObjectCode object{ToBytes(Sha256(bytes)), bytes.size(), format,
                    std::move(symbols)};
  HOLDFAST_ASSIGN_OR_RETURN(const bool stored, IsStored(daemon, object.sha256));
  if (stored) return object;
  v1::PutObjectRequest request;
  v1::ObjectHeader& header = *request.mutable_header();
  header.set_sha256(object.sha256);
  header.set_size(object.size);
  header.set_format(format);
  header.mutable_symbols()->insert(object.symbols.begin(),
                                   object.symbols.end());
  grpc::ClientContext context;
  v1::PutObjectResponse response;
  auto writer = daemon.stubs().objects.PutObject(&context, &response);
  bool open = writer->Write(request);
  while (open && !bytes.empty()) {
    const absl::string_view part = bytes.substr(0, kMaxChunkBytes);
    request.set_data(part.data(), part.size());
    bytes.remove_prefix(part.size());
    open = writer->Write(request);
  }
  writer->WritesDone();
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(writer->Finish()));
  return object;
}

absl::StatusOr<std::string> ObjectCode::Fetch(Daemon& daemon) const {
  grpc::ClientContext context;
  v1::GetObjectRequest request;
  request.set_sha256(sha256);
  auto reader = daemon.stubs().objects.GetObject(&context, request);
  std::string bytes;
  v1::GetObjectResponse response;
  while (reader->Read(&response)) bytes.append(response.data());
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(reader->Finish()));
  if (ToBytes(Sha256(bytes)) != sha256) {
    return absl::DataLossError("the object does not have the hash asked for");
  }
  return bytes;
}

}  // namespace holdfast
