// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_ACCOUNT_TENANT_SHARE_H_
#define HOLDFAST_SERVER_ACCOUNT_TENANT_SHARE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "server/account/tenant_page.h"

namespace holdfast {

// The share of an executor in its tenant's limits. Counts in the executor's
// slot of the tenant's page, and checks the page's limits. Thread-safe.
class TenantShare {
 public:
  // Maps the page. `memory` is borrowed, and may be closed after the call;
  // `tenant` is the tenant's name, for errors. INVALID_ARGUMENT: the descriptor
  // is not a TenantPage, or there is no such slot.
  static absl::StatusOr<std::shared_ptr<TenantShare>> Map(
      int memory, uint32_t slot, const std::string& tenant);

  // Counts `amount` more of `kind`, a number of TenantPage, without blocking.
  // `what` names the kind in the error: "stream handles". RESOURCE_EXHAUSTED:
  // the sum would be over the tenant's limit.
  absl::Status Take(size_t kind, uint64_t amount, const std::string& what);
  // Like Take, but blocks until the amount fits. RESOURCE_EXHAUSTED: the amount
  // alone is over the limit. UNAVAILABLE: Close was called.
  absl::Status Await(size_t kind, uint64_t amount, const std::string& what);
  // Counts `amount` less. REQUIRES: Take or Await has counted it.
  void Return(size_t kind, uint64_t amount);

  // Makes present and later calls of Await fail if they would block.
  void Close() { closed_ = true; }

 private:
  TenantShare(FileMapping mapping, uint32_t slot, const std::string& tenant)
      : mapping_(std::move(mapping)), slot_(slot), tenant_(tenant) {}

  TenantPage& page() const {
    return *static_cast<TenantPage*>(mapping_.data());
  }
  uint64_t LimitOf(size_t kind) const;
  uint64_t SumOf(size_t kind) const;
  bool TryTake(size_t kind, uint64_t amount);

  const FileMapping mapping_;
  const uint32_t slot_;
  const std::string tenant_;
  std::atomic<bool> closed_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_TENANT_SHARE_H_
