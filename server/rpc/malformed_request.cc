// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/malformed_request.h"

#include <string>

namespace holdfast {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// With these gRPC answers what it could not parse. It also reads no message
// where it has no thread for the call, and says RESOURCE_EXHAUSTED.
bool SaysNothing(grpc::StatusCode code) {
  return code == grpc::StatusCode::INTERNAL ||
         code == grpc::StatusCode::UNIMPLEMENTED;
}

class MalformedRequest : public grpc::experimental::Interceptor {
 public:
  explicit MalformedRequest(const char* method) : method_(method) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    using Hook = InterceptionHookPoints;
    if (batch->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE)) {
      malformed_ = batch->GetRecvMessage() == nullptr;
    }
    if (malformed_ &&
        batch->QueryInterceptionHookPoint(Hook::PRE_SEND_STATUS) &&
        SaysNothing(batch->GetSendStatus().error_code())) {
      batch->ModifySendStatus(
          {grpc::StatusCode::INVALID_ARGUMENT,
           std::string("the request of ") + method_ +
               " cannot be parsed: it is another message, truncated, or has "
               "text in a string field that is not UTF-8"});
    }
    batch->Proceed();
  }

 private:
  const char* const method_;
  bool malformed_ = false;
};

}  // namespace

grpc::experimental::Interceptor*
MalformedRequestFactory::CreateServerInterceptor(ServerRpcInfo* info) {
  const bool one_request =
      info->type() == ServerRpcInfo::Type::UNARY ||
      info->type() == ServerRpcInfo::Type::SERVER_STREAMING;
  return one_request ? new MalformedRequest(info->method()) : nullptr;
}

}  // namespace holdfast
