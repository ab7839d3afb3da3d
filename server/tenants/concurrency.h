// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_
#define HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_

#include <compare>
#include <cstdint>
#include <string>

namespace holdfast {

// The setting that decides whether the kernels of a tenant's sessions run at
// the same time as those of others. By default each executor has its own
// contexts, which the device runs in turns. The executors of tenants in one
// group share an MPS server, which runs their kernels at the same time; a fault
// of one executor is then a fault of all of them.
//
// Policy files set it for each tenant. Tenants with equal values share a server
// and its warm executors, so the value is also a key of maps.
struct Concurrency {
  std::string group;  // empty: no group
  // The directory of the MPS control daemon that an operator has started for
  // the group; empty: the daemon starts one.
  std::string pipe_directory;
  // The share of the multiprocessors that each executor may use; 1 to 100.
  uint32_t thread_percentage = 100;

  bool shared() const { return !group.empty(); }
  friend auto operator<=>(const Concurrency&, const Concurrency&) = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_
