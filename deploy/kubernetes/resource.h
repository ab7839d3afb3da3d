// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_KUBERNETES_RESOURCE_H_
#define HOLDFAST_DEPLOY_KUBERNETES_RESOURCE_H_

#include <cstdint>
#include <string>

#include "deploy/node/tenant_options.h"

namespace holdfast::kubernetes {

inline constexpr char kDomain[] = "holdfast.dev/";

// The resources in a pod's limits. A container asks for one of the two:
//   holdfast.dev/session: 2        two sessions at once, no limit of memory
//   holdfast.dev/memory-gib: 8     8 GiB of device memory
struct Resource {
  enum class Kind { kSession, kMemory };
  Kind kind;
  uint32_t count;  // devices to advertise: sessions, or GiB
  // The group of the policy that all its pods' tenants join; empty: none.
  std::string group = {};

  std::string short_name() const {
    return kind == Kind::kSession ? "session" : "memory-gib";
  }
  std::string name() const { return kDomain + short_name(); }
  // The socket's file in the kubelet's directory.
  std::string endpoint() const { return "holdfast-" + short_name() + ".sock"; }
  std::string device(uint32_t number) const {
    return short_name() + "-" + std::to_string(number);
  }
  // Returns the tenant's limits for a container with this number of devices.
  node::TenantOptions options(uint32_t devices) const {
    node::TenantOptions options = {.group = group};
    if (kind == Kind::kSession) {
      options.sessions = devices;
    } else {
      options.memory_bytes = uint64_t{devices} << 30;
    }
    return options;
  }
};

}  // namespace holdfast::kubernetes

#endif  // HOLDFAST_DEPLOY_KUBERNETES_RESOURCE_H_
