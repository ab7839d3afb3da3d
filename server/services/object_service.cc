// SPDX-License-Identifier: Apache-2.0
#include "server/services/object_service.h"

#include "absl/strings/str_cat.h"
#include "server/rpc/refused_stream.h"
#include "server/rpc/unary_call.h"
#include "server/services/object_download.h"
#include "server/services/object_upload.h"

namespace holdfast {
namespace {

constexpr int kMaxAsked = 1024;

}  // namespace

ObjectService::ObjectService(ObjectStore& store, const Callers& callers)
    : store_(store), callers_(callers), transfers_(store.max_bytes()) {}

ObjectService::~ObjectService() = default;

grpc::ServerReadReactor<v1::PutObjectRequest>* ObjectService::PutObject(
    grpc::CallbackServerContext* context, v1::PutObjectResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) {
    return new RefusedStream<grpc::ServerReadReactor<v1::PutObjectRequest>>(
        caller.status());
  }
  return new ObjectUpload(context, caller->client(), store_, transfers_,
                          response);
}

grpc::ServerWriteReactor<v1::GetObjectResponse>* ObjectService::GetObject(
    grpc::CallbackServerContext* context, const v1::GetObjectRequest* request) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) {
    return new RefusedStream<grpc::ServerWriteReactor<v1::GetObjectResponse>>(
        caller.status());
  }
  return new ObjectDownload(context, caller->client(), request->sha256(),
                            store_, transfers_);
}

grpc::ServerUnaryReactor* ObjectService::HasObjects(
    grpc::CallbackServerContext* context, const v1::HasObjectsRequest* request,
    v1::HasObjectsResponse* response) {
  const auto caller = callers_.Of(*context);
  if (!caller.ok()) return Answer(context, caller.status());
  if (request->sha256_size() > kMaxAsked) {
    return Answer(context,
                  absl::InvalidArgumentError(absl::StrCat(
                      request->sha256_size(),
                      " objects asked for, the limit is ", kMaxAsked)));
  }
  for (const std::string& sha256 : request->sha256()) {
    response->add_stored(store_.Has(sha256));
  }
  return Answer(context, absl::OkStatus());
}

}  // namespace holdfast
