// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_NODE_TENANT_OPTIONS_H_
#define HOLDFAST_DEPLOY_NODE_TENANT_OPTIONS_H_

#include <cstdint>
#include <string>

namespace holdfast::node {

// The share of a node's daemon that a job or a pod gets.
struct TenantOptions {
  uint64_t memory_bytes = 0;    // of device buffers; 0: no limit of its own
  uint64_t reserved_bytes = 0;  // of each device, reserved for this tenant
  uint32_t weight = 1;          // its share of a busy device, 1 to 1000
  uint32_t devices = 0;         // the number of devices; 0: all
  uint32_t sessions = 0;        // at once; 0: no limit of its own
  // A group of the daemon's policy. The tenants of a group share an MPS server.
  // Empty: no group.
  std::string group;
};

}  // namespace holdfast::node

#endif  // HOLDFAST_DEPLOY_NODE_TENANT_OPTIONS_H_
