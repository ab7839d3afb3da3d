// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <string>

#include "server/rpc/stall_guard.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// A service of the protocol that executors answer: each call goes, unparsed,
// to the executor of the session whose token it carries. Registered under the
// service's own name, so that reflection and health know it.
class ForwardedService final : public grpc::Service {
 public:
  // kBytes: calls go by connections of their own, and end when the client does
  // not take a message for a minute.
  enum class Traffic { kCommands, kBytes };

  // `registry` must outlive the service.
  ForwardedService(const google::protobuf::ServiceDescriptor& descriptor,
                   const SessionRegistry& registry, Traffic traffic);

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Forward(
      const SessionRegistry& registry, const std::string& method,
      grpc::CallbackServerContext* context);

  std::unique_ptr<StallGuard> stall_guard_;  // kBytes
  std::deque<std::string> names_;  // "/holdfast.v1.CommandService/Run"; pinned
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
