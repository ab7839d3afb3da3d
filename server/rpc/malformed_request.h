// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
#define HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_

#include <grpcpp/support/server_interceptor.h>

namespace holdfast {

// Where gRPC cannot parse a request, it answers INTERNAL or UNIMPLEMENTED
// without a word, and no service hears of it; this makes it INVALID_ARGUMENT,
// with the reasons that there can be. For calls of one request.
class MalformedRequestFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
