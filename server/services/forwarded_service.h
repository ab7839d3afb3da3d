// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "server/rpc/call_threads.h"
#include "server/rpc/stall_guard.h"
#include "server/services/relayed_transfer.h"
#include "server/supervisor/session_registry.h"

namespace holdfast {

// Stands for a service of the protocol that executors serve: forwards each call
// to the executor of the session whose token the call carries. It is registered
// under the name of that service, so that reflection and health list the
// service.
class ForwardedService final : public grpc::Service {
 public:
  // The path of a service's streams to the executor: through rings of shared
  // memory (kCommands), or through pipes of shared memory (kBytes). Unary calls
  // pass through gRPC. A call is cancelled if its client does not take a
  // message for a minute.
  enum class Traffic { kCommands, kBytes };

  // `descriptor` is the forwarded service's. `registry` and `threads` must
  // outlive the object.
  ForwardedService(const google::protobuf::ServiceDescriptor& descriptor,
                   const supervisor::SessionRegistry& registry, Traffic traffic,
                   CallThreads& threads);

 private:
  struct Method {
    std::string name;  // "/holdfast.v1.CommandService/Run"
    std::optional<TransferDirection> direction;  // of a transfer
    bool is_execute = false;                     // CommandService.Execute
  };

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Forward(
      const supervisor::SessionRegistry& registry, const Method& method,
      grpc::CallbackServerContext* context);

  // The most concurrent transfers of all clients. They have their own threads,
  // because a transfer waits for pipes, devices and clients.
  static constexpr size_t kMaxTransfers = 512;

  CallThreads& threads_;
  StallGuard stall_guard_;
  CallThreads transfer_threads_{kMaxTransfers};
  std::deque<Method> methods_;  // pinned
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_FORWARDED_SERVICE_H_
