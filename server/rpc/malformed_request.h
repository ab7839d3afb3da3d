// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
#define HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_

#include <grpcpp/support/server_interceptor.h>

namespace holdfast {

// Turns gRPC's answer to a request that it cannot parse into INVALID_ARGUMENT
// with the possible reasons. gRPC answers INTERNAL or UNIMPLEMENTED without a
// message, and calls no service. For calls with one request.
class MalformedRequestFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
