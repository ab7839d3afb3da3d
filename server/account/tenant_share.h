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

// An executor's part in what its tenant's sessions hold together: counts in its
// slot of the tenant's page, within the limits there. Thread-safe.
class TenantShare {
 public:
  // INVALID_ARGUMENT: the descriptor is no page, or there is no such slot.
  static absl::StatusOr<std::shared_ptr<TenantShare>> Map(
      int memory, uint32_t slot, const std::string& tenant);

  // Takes `amount` of `kind`, which is one of TenantPage's; `what` names it in
  // the refusal: "stream handles". RESOURCE_EXHAUSTED: the tenant's sessions
  // hold too much.
  absl::Status Take(size_t kind, uint64_t amount, const std::string& what);
  // Blocks until the amount fits. RESOURCE_EXHAUSTED: it never will;
  // UNAVAILABLE: Close was called.
  absl::Status Await(size_t kind, uint64_t amount, const std::string& what);
  void Return(size_t kind, uint64_t amount);

  // Await fails from now on.
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
