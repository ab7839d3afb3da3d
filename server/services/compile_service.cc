// SPDX-License-Identifier: Apache-2.0
#include "server/services/compile_service.h"

#include <utility>

#include "absl/time/time.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {

grpc::Status CompileService::Compile(grpc::ServerContext* context,
                                     const v1::CompileRequest* request,
                                     v1::CompileResponse* response) {
  auto compiled =
      compiler_.Compile(*request, absl::FromChrono(context->deadline()));
  if (!compiled.ok()) return ToGrpcStatus(compiled.status());
  *response = *std::move(compiled);
  return grpc::Status::OK;
}

grpc::Status CompileService::Link(grpc::ServerContext* context,
                                  const v1::LinkRequest* request,
                                  v1::LinkResponse* response) {
  auto linked = compiler_.Link(*request, absl::FromChrono(context->deadline()));
  if (!linked.ok()) return ToGrpcStatus(linked.status());
  *response = *std::move(linked);
  return grpc::Status::OK;
}

}  // namespace holdfast
