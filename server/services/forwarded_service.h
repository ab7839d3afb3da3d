// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>

#include <deque>
#include <string>

#include "server/supervisor/session_registry.h"

namespace holdfast {

// A service of the protocol that executors answer: each call goes, unparsed,
// to the executor of the session whose token it carries. Registered under the
// service's own name, so that reflection and health know it.
class ForwardedService final : public grpc::Service {
 public:
  // `registry` must outlive the service.
  ForwardedService(const google::protobuf::ServiceDescriptor& descriptor,
                   const SessionRegistry& registry);

 private:
  std::deque<std::string> names_;  // "/holdfast.v1.CommandService/Run"; pinned
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
