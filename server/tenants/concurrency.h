// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_
#define HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_

#include <compare>
#include <cstdint>
#include <string>

namespace holdfast {

// How the kernels of a tenant's sessions run beside those of others. By default
// each executor has contexts of its own, which the device runs in turns. Those
// of tenants in one group share an MPS server, which runs their kernels at the
// same time; a fault of one is a fault of all of them.
//
// Policy files set it per tenant. Equal values share a server and its warm
// executors, so it is also a key of maps.
struct Concurrency {
  std::string group;  // empty: the tenant is in none
  // Belongs to the group's MPS control daemon, which an operator has started;
  // empty: the daemon starts one.
  std::string pipe_directory;
  // Part of the multiprocessors that each executor may use; 1 to 100.
  uint32_t thread_percentage = 100;

  bool shared() const { return !group.empty(); }
  friend auto operator<=>(const Concurrency&, const Concurrency&) = default;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_CONCURRENCY_H_
