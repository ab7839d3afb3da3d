// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/kubelet.h"

#include <grpcpp/create_channel.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "kubelet/device_plugin.grpc.pb.h"
#include "kubelet/pod_resources.grpc.pb.h"

namespace holdfast::kubernetes {
namespace {

constexpr char kVersion[] = "v1beta1";
constexpr char kKubeletSocket[] = "kubelet.sock";
constexpr auto kTimeout = std::chrono::seconds(10);

std::shared_ptr<grpc::Channel> Dial(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(
      "unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status StatusOf(const grpc::Status& status, const std::string& call) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(call, ": ", status.error_message()));
}

}  // namespace

absl::Status Kubelet::Register(const std::string& endpoint,
                               const std::string& resource) const {
  const auto stub =
      v1beta1::Registration::NewStub(Dial(SocketOf(kKubeletSocket)));
  v1beta1::RegisterRequest request;
  request.set_version(kVersion);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  request.mutable_options();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  v1beta1::Empty response;
  return StatusOf(stub->Register(&context, request, &response),
                  absl::StrCat("register ", resource, " at the kubelet"));
}

absl::StatusOr<std::set<PodDevice>> Kubelet::DevicesOfPods() const {
  const auto stub = ::v1::PodResourcesLister::NewStub(Dial(pod_resources_));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kTimeout);
  ::v1::ListPodResourcesResponse response;
  const absl::Status status =
      StatusOf(stub->List(&context, {}, &response), "ask for pods' resources");
  if (!status.ok()) return status;
  std::set<PodDevice> devices;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      for (const auto& resource : container.devices()) {
        for (const std::string& id : resource.device_ids()) {
          devices.emplace(resource.resource_name(), id);
        }
      }
    }
  }
  return devices;
}

std::optional<std::pair<uint64_t, int64_t>> Kubelet::Incarnation() const {
  struct stat info = {};
  if (stat(SocketOf(kKubeletSocket).c_str(), &info) != 0) return std::nullopt;
  return std::pair<uint64_t, int64_t>(
      info.st_ino,
      int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec);
}

}  // namespace holdfast::kubernetes
