// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/node_plugin.h"

#include <set>

#include "absl/status/statusor.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace holdfast::kubernetes {

NodePlugin::NodePlugin(node::NodeDaemon daemon, Kubelet kubelet,
                       const std::vector<Resource>& resources,
                       const SocketAccess& access)
    : daemon_(daemon), kubelet_(std::move(kubelet)), tenants_(daemon) {
  for (const Resource& resource : resources) {
    plugins_.push_back(
        std::make_unique<DevicePlugin>(resource, access, tenants_));
  }
}

absl::Status NodePlugin::Step(absl::Time now) {
  LookAtHealth();
  if (!adopted_) adopted_ = tenants_.Adopt().ok();
  const auto incarnation = kubelet_.Incarnation();
  if (incarnation != registered_with_) {
    if (incarnation.has_value()) HOLDFAST_RETURN_IF_ERROR(RegisterAll());
    registered_with_ = incarnation;
  }
  const absl::StatusOr<std::set<PodDevice>> in_use = kubelet_.DevicesOfPods();
  // Without an answer nobody knows which pods have ended.
  if (in_use.ok()) tenants_.EndAllBut(*in_use, now);
  return absl::OkStatus();
}

absl::Status NodePlugin::RegisterAll() {
  for (const auto& plugin : plugins_) {
    const Resource& resource = plugin->resource();
    HOLDFAST_RETURN_IF_ERROR(
        plugin->Serve(kubelet_.SocketOf(resource.endpoint())));
    HOLDFAST_RETURN_IF_ERROR(
        kubelet_.Register(resource.endpoint(), resource.name()));
    LogInfo(resource.name(), ": ", resource.count, " registered");
  }
  return absl::OkStatus();
}

void NodePlugin::LookAtHealth() {
  const node::Answer health = daemon_.CheckHealth();
  if (health.done() != healthy_) {
    LogWarning(health.done() ? "the daemon is well again"
                             : "nothing for new pods: " + health.text);
  }
  healthy_ = health.done();
  for (const auto& plugin : plugins_) plugin->SetHealthy(healthy_);
}

}  // namespace holdfast::kubernetes
