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
// a plugin that was restarted finds the tenants of the one before. Thread-safe.
class PodTenants {
 public:
  explicit PodTenants(node::NodeDaemon daemon) : daemon_(std::move(daemon)) {}

  // Takes over the tenants that an earlier plugin of this node has left.
  absl::Status Adopt();

  // Makes a tenant for the container that gets these devices of a resource;
  // returns its token. A tenant that one of the devices still has is ended
  // first: the kubelet gives a device to nobody else before its pod has ended.
  absl::StatusOr<std::string> Create(const std::string& resource,
                                     const std::vector<std::string>& devices,
                                     const node::TenantOptions& options);

  // Ends the tenants whose devices are in no pod any more. One whose pod has
  // not been seen yet has a minute to appear. A tenant that the daemon does not
  // end is tried again by the next call.
  void EndAllBut(const std::set<PodDevice>& in_use, absl::Time now);

  size_t size() const;

 private:
  struct Tenant {
    PodDevice first;
    bool seen = false;
    absl::Time created;
  };

  // Returns true if the daemon has no tenant of this name any more.
  bool End(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const node::NodeDaemon daemon_;
  // Held while the daemon is asked, so that what one call makes is not ended by
  // another one that has an older list.
  mutable absl::Mutex mutex_;
  std::map<std::string, Tenant> tenants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_POD_TENANTS_H_
