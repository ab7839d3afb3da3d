// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_
#define HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_

#include <string>
#include <utility>
#include <vector>

#include "deploy/node/program.h"
#include "deploy/node/tenant_options.h"

namespace holdfast::node {

// How an act of the daemon ended.
struct Answer {
  enum class Kind {
    kDone,
    kRefused,  // the daemon answered, and will not do it
    kBroken,   // it cannot be reached or does not answer: the node's fault, not
               // that of who asked
  };
  Kind kind = Kind::kDone;
  std::string text;  // what was asked for, or why it was not done

  bool done() const { return kind == Kind::kDone; }
};

// This node's daemon, through the command line `holdfast`. REQUIRES: root or
// the daemon's user, who are operators.
class NodeDaemon {
 public:
  NodeDaemon(std::string cli, std::string address)
      : cli_(std::move(cli)), address_(std::move(address)) {}

  // Done if no device is in quarantine; else the text is "device 0 is in
  // quarantine: REASON".
  Answer CheckHealth() const;

  // Makes a tenant; the text is its token. One of the same name, which an
  // earlier run of a job has left, is ended first.
  Answer CreateTenant(const std::string& name,
                      const TenantOptions& options) const;

  // Ends everything of the tenant, whose clients are told `reason`; the text is
  // what it used, in JSON. Done, with an empty text, if there is no such
  // tenant.
  Answer EndTenant(const std::string& name, const std::string& reason) const;

  // The tenant's use so far, in JSON.
  Answer Usage(const std::string& name) const;

  // The names of all tenants that begin with `prefix`, one a line.
  Answer NamesOfTenants(const std::string& prefix) const;

  // The CDI specification of a daemon whose sockets are in `directory`, in
  // JSON. Asks no daemon.
  Answer CdiSpecification(const std::string& directory) const;

  // The memory of all devices together, in bytes, as a number.
  Answer DeviceMemory() const;

 private:
  Answer Ask(std::vector<std::string> arguments) const;
  // The ordinals of the `count` devices with the most free memory, "0,2".
  Answer FreestDevices(uint32_t count) const;

  const std::string cli_;
  const std::string address_;
};

// For people, one line: "holdfast: peak memory 3.0 GiB, GPU time 1.5 s".
std::string DescribeUsage(const std::string& json);

}  // namespace holdfast::node

#endif  // HOLDFAST_DEPLOY_NODE_NODE_DAEMON_H_
