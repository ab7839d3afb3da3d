// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
#define HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_

#include <grpcpp/support/server_interceptor.h>

namespace holdfast {

// Makes interceptors that change gRPC's answer to a request that gRPC cannot
// parse. gRPC answers INTERNAL or UNIMPLEMENTED without a message, and calls no
// service; the interceptor answers INVALID_ARGUMENT and names the possible
// reasons. Only for calls with a single request.
class MalformedRequestFactory
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_MALFORMED_REQUEST_H_
