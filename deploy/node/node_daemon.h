// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_
#define HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_

#include <string>
#include <utility>
#include <vector>

#include "deploy/node/program.h"
#include "deploy/node/tenant_options.h"

namespace holdfast::node {

// The outcome of a request to the daemon.
struct Answer {
  enum class Kind {
    kDone,
    kRefused,  // the daemon has refused the request
    kBroken,   // the daemon cannot be reached or does not answer: a fault of
               // the node, not of the request
  };
  Kind kind = Kind::kDone;
  std::string text;  // the result, or the reason why there is none

  bool done() const { return kind == Kind::kDone; }
};

// This node's daemon. Each method runs the command-line program `cli` and
// blocks for up to a minute for each run. REQUIRES: the process runs as an
// operator, such as root or the daemon's user.
class NodeDaemon {
 public:
  NodeDaemon(std::string cli, std::string address)
      : cli_(std::move(cli)), address_(std::move(address)) {}

  // Returns kDone if no device is in quarantine; otherwise kRefused with the
  // text "device 0 is in quarantine: REASON".
  Answer CheckHealth() const;

  // Makes a tenant. Returns its token. Ends an existing tenant of this name
  // first, which an earlier run of the job has left.
  Answer CreateTenant(const std::string& name,
                      const TenantOptions& options) const;

  // Ends the tenant and its sessions; `reason` is sent to its clients. Returns
  // its usage in JSON; kDone with an empty text if there is no such tenant.
  Answer EndTenant(const std::string& name, const std::string& reason) const;

  // Returns the tenant's usage so far, in JSON; kRefused if there is no such
  // tenant.
  Answer Usage(const std::string& name) const;

  // Returns the names of all tenants that begin with `prefix`, one a line.
  Answer NamesOfTenants(const std::string& prefix) const;

  // Returns the CDI specification of a daemon whose sockets are in `directory`,
  // in JSON. Needs no running daemon.
  Answer CdiSpecification(const std::string& directory) const;

  // Returns the total memory of all devices, in bytes, as a decimal number.
  Answer DeviceMemory() const;

 private:
  Answer Ask(std::vector<std::string> arguments) const;
  // Returns the ordinals of the `count` devices with the most free memory, such
  // as "0,2"; kRefused if there are fewer devices.
  Answer FreestDevices(uint32_t count) const;

  const std::string cli_;
  const std::string address_;
};

// Returns a line to print for the usage in `json`: "holdfast: peak memory 3.0
// MiB, GPU time 1.5 s".
std::string DescribeUsage(const std::string& json);

}  // namespace holdfast::node

#endif  // HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_
