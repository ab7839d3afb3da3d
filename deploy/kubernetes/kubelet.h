// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_KUBERNETES_KUBELET_H_
#define HOLDFAST_DEPLOY_KUBERNETES_KUBELET_H_

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast::kubernetes {

// A device of a resource: {"holdfast.dev/session", "session-3"}.
using PodDevice = std::pair<std::string, std::string>;

// This node's kubelet, through the sockets that it serves. Thread-safe.
class Kubelet {
 public:
  // `plugins` is the kubelet's directory for device plugins, usually
  // /var/lib/kubelet/device-plugins; `pod_resources` is the socket of its
  // PodResources service.
  Kubelet(std::string plugins, std::string pod_resources)
      : plugins_(std::move(plugins)),
        pod_resources_(std::move(pod_resources)) {}

  // Returns the path of a plugin's socket, in the kubelet's directory.
  std::string SocketOf(const std::string& endpoint) const {
    return plugins_ + "/" + endpoint;
  }

  // Tells the kubelet that `endpoint`, a file in its directory, serves the
  // resource.
  absl::Status Register(const std::string& endpoint,
                        const std::string& resource) const;

  // Returns the devices that pods have now.
  absl::StatusOr<std::set<PodDevice>> DevicesOfPods() const;

  // Identifies the kubelet's socket. The value changes when the kubelet
  // restarts, and thereby removes the sockets of all plugins. Returns nullopt
  // while there is no kubelet.
  std::optional<std::pair<uint64_t, int64_t>> Incarnation() const;

 private:
  const std::string plugins_;
  const std::string pod_resources_;
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_KUBELET_H_
