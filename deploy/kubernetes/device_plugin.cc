// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/device_plugin.h"

#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"

namespace holdfast::kubernetes {
namespace {

// How soon a stream notices that the kubelet has gone.
constexpr absl::Duration kLook = absl::Seconds(1);

}  // namespace

DevicePlugin::DevicePlugin(Resource resource, SocketAccess access,
                           PodTenants& tenants)
    : resource_(resource), access_(std::move(access)), tenants_(tenants) {}

DevicePlugin::~DevicePlugin() { Stop(); }

void DevicePlugin::Stop() {
  if (server_ == nullptr) return;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  server_->Shutdown(absl::ToChronoTime(absl::Now()));
  server_ = nullptr;
  absl::MutexLock lock(&mutex_);
  stopping_ = false;
}

absl::Status DevicePlugin::Serve(const std::string& socket) {
  Stop();
  unlink(socket.c_str());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen on ", socket));
}

void DevicePlugin::SetHealthy(bool healthy) {
  absl::MutexLock lock(&mutex_);
  healthy_ = healthy;
}

v1beta1::ListAndWatchResponse DevicePlugin::Devices(bool healthy) const {
  v1beta1::ListAndWatchResponse list;
  for (uint32_t i = 0; i < resource_.count; ++i) {
    v1beta1::Device& device = *list.add_devices();
    device.set_id(resource_.device(i));
    device.set_health(healthy ? "Healthy" : "Unhealthy");
  }
  return list;
}

grpc::Status DevicePlugin::GetDevicePluginOptions(
    grpc::ServerContext* /*context*/, const v1beta1::Empty* /*request*/,
    v1beta1::DevicePluginOptions* /*response*/) {
  return grpc::Status::OK;
}

grpc::Status DevicePlugin::ListAndWatch(
    grpc::ServerContext* context, const v1beta1::Empty* /*request*/,
    grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) {
  bool told = false;  // the health that the kubelet knows
  bool first = true;
  while (!context->IsCancelled()) {
    bool healthy = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto news = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stopping_ || first || healthy_ != told;
      };
      if (!mutex_.AwaitWithTimeout(absl::Condition(&news), kLook)) continue;
      if (stopping_) break;
      healthy = healthy_;
    }
    if (!writer->Write(Devices(healthy))) break;
    told = healthy;
    first = false;
  }
  return grpc::Status::OK;
}

grpc::Status DevicePlugin::Allocate(grpc::ServerContext* /*context*/,
                                    const v1beta1::AllocateRequest* request,
                                    v1beta1::AllocateResponse* response) {
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string> devices(container.devices_ids().begin(),
                                           container.devices_ids().end());
    const absl::StatusOr<std::string> token = tenants_.Create(
        resource_.name(), devices,
        resource_.options(static_cast<uint32_t>(devices.size())));
    if (!token.ok()) {
      LogWarning("allocate ", resource_.name(), ": ", token.status().message());
      return {static_cast<grpc::StatusCode>(token.status().code()),
              std::string(token.status().message())};
    }
    auto& answer = *response->add_container_responses();
    (*answer.mutable_envs())["HOLDFAST_ADDRESS"] =
        absl::StrCat("unix:", access_.directory, "/holdfast.sock");
    (*answer.mutable_envs())["HOLDFAST_TOKEN"] = *token;
    if (access_.by_cdi) {
      answer.add_cdi_devices()->set_name(kCdiDevice);
      continue;
    }
    v1beta1::Mount& mount = *answer.add_mounts();
    mount.set_host_path(access_.directory);
    // The same path: the daemon names the sockets of sessions as it sees them.
    mount.set_container_path(access_.directory);
    mount.set_read_only(true);  // Sockets can be connected to all the same.
  }
  return grpc::Status::OK;
}

}  // namespace holdfast::kubernetes
