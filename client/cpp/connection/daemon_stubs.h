// SPDX-License-Identifier: Apache-2.0
//
// gRPC's stubs of the services that a Daemon calls, for the .cc files of the
// classes that use it. The stubs are not in daemon.h, because they take longer
// to compile than everything else that a user of the library includes.
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_STUBS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_STUBS_H_

#include <memory>

#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/collections.grpc.pb.h"
#include "holdfast/v1/compile.grpc.pb.h"
#include "holdfast/v1/devices.grpc.pb.h"
#include "holdfast/v1/objects.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"

namespace holdfast {

// Thread-safe, as gRPC's stubs are.
struct DaemonStubs {
  explicit DaemonStubs(const std::shared_ptr<grpc::Channel>& channel)
      : admin(channel),
        collections(channel),
        compiler(channel),
        devices(channel),
        objects(channel),
        sessions(channel) {}

  v1::AdminService::Stub admin;
  v1::CollectionService::Stub collections;
  v1::CompileService::Stub compiler;
  v1::DeviceService::Stub devices;
  v1::ObjectService::Stub objects;
  v1::SessionService::Stub sessions;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_STUBS_H_
