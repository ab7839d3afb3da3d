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
  // `plugins` is its directory for device plugins, usually
  // /var/lib/kubelet/device-plugins; `pod_resources` the socket of that
  // service.
  Kubelet(std::string plugins, std::string pod_resources)
      : plugins_(std::move(plugins)),
        pod_resources_(std::move(pod_resources)) {}

  // Where the kubelet looks for the sockets of plugins.
  std::string SocketOf(const std::string& endpoint) const {
    return plugins_ + "/" + endpoint;
  }

  // Tells the kubelet that `endpoint`, a file in its directory, serves the
  // resource.
  absl::Status Register(const std::string& endpoint,
                        const std::string& resource) const;

  // Which devices pods have now.
  absl::StatusOr<std::set<PodDevice>> DevicesOfPods() const;

  // Changes when the kubelet is started anew, which removes the sockets of all
  // plugins; nothing while it is not there.
  std::optional<std::pair<uint64_t, int64_t>> Incarnation() const;

 private:
  const std::string plugins_;
  const std::string pod_resources_;
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_KUBELET_H_
