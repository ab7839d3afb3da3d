// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_KUBERNETES_POD_TENANTS_H_
#define HOLDFAST_DEPLOY_KUBERNETES_POD_TENANTS_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "deploy/kubernetes/kubelet.h"
#include "deploy/node/node_daemon.h"

namespace holdfast::kubernetes {

// The tenants of pods in the daemon: one for each container that has devices. A
// tenant is named after the container's first device, "pod-session-3", so that
// a restarted plugin finds the tenants of the earlier plugin. Thread-safe.
class PodTenants {
 public:
  explicit PodTenants(node::NodeDaemon daemon) : daemon_(std::move(daemon)) {}

  // Takes over the tenants that an earlier plugin of this node has left.
  absl::Status Adopt();

  // Makes a tenant for the container that gets these devices of a resource;
  // returns its token. A tenant that has one of these devices is ended first:
  // the kubelet reassigns a device only after its pod has ended.
  // UNAVAILABLE: that tenant could not be ended, or the daemon did not answer.
  absl::StatusOr<std::string> Create(const std::string& resource,
                                     const std::vector<std::string>& devices,
                                     const node::TenantOptions& options);

  // Ends tenants that have no device in `in_use`: at once if the tenant's pod
  // was seen before, otherwise a minute after the tenant was made. One device
  // keeps a tenant, because the kubelet may take single devices from a pod that
  // runs. If the daemon does not end a tenant, the next call tries again.
  void EndAllBut(const std::set<PodDevice>& in_use, absl::Time now);

  size_t size() const;

 private:
  struct Tenant {
    // The container's devices. For a tenant of an earlier plugin, only the
    // first device, because the tenant's name says no more.
    std::set<PodDevice> devices;
    bool seen = false;
    absl::Time created;
  };

  // Returns the names of the tenants that have one of these devices.
  std::vector<std::string> Having(const std::set<PodDevice>& devices) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true if the daemon has no tenant of this name any more.
  bool End(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const node::NodeDaemon daemon_;
  // Held during calls to the daemon, so that the tenants of the daemon and
  // tenants_ change together.
  mutable absl::Mutex mutex_;
  std::map<std::string, Tenant> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_POD_TENANTS_H_
