// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_KUBERNETES_NODE_PLUGIN_H_
#define HOLDFAST_DEPLOY_KUBERNETES_NODE_PLUGIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "deploy/kubernetes/device_plugin.h"
#include "deploy/kubernetes/kubelet.h"
#include "deploy/kubernetes/pod_tenants.h"
#include "deploy/kubernetes/resource.h"
#include "deploy/node/node_daemon.h"

namespace holdfast::kubernetes {

// All that this node's daemon does for its kubelet: one device plugin for each
// resource, and the tenants of pods.
class NodePlugin {
 public:
  NodePlugin(node::NodeDaemon daemon, Kubelet kubelet,
             const std::vector<Resource>& resources,
             const SocketAccess& access);

  // Carries out the work that is due: registers with a kubelet that has
  // started, tells it of the daemon's health, and ends the tenants of pods that
  // have ended. Returns an error if the kubelet refuses a resource, because it
  // would refuse it again. The next call retries all other failures.
  absl::Status Step(absl::Time now);

  size_t tenants() const { return tenants_.size(); }

 private:
  absl::Status RegisterAll();
  void LookAtHealth();

  const node::NodeDaemon daemon_;
  const Kubelet kubelet_;
  PodTenants tenants_;
  bool adopted_ = false;
  bool healthy_ = true;
  std::optional<std::pair<uint64_t, int64_t>> registered_with_;
  std::vector<std::unique_ptr<DevicePlugin>> plugins_;
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_NODE_PLUGIN_H_
