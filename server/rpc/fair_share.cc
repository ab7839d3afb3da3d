// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/fair_share.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::Status FairShare::Take(const std::string& client, uint64_t amount) {
  absl::MutexLock lock(&mutex_);
  const auto found = held_.find(client);
  const uint64_t own = found == held_.end() ? 0 : found->second;
  const uint64_t free = capacity_ - used_;
  if (amount > free || own > free - amount) {
    return absl::ResourceExhaustedError(absl::StrCat(
        amount, " more ", what_, " are over this client's share: it holds ",
        own, ", and ", free, " of ", capacity_,
        " are free for all clients; try again later"));
  }
  used_ += amount;
  held_[client] += amount;
  return absl::OkStatus();
}

void FairShare::Return(const std::string& client, uint64_t amount) {
  absl::MutexLock lock(&mutex_);
  const auto found = held_.find(client);
  used_ -= amount;
  found->second -= amount;
  if (found->second == 0) held_.erase(found);
}

uint64_t FairShare::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

uint64_t FairShare::HeldBy(const std::string& client) const {
  absl::MutexLock lock(&mutex_);
  const auto found = held_.find(client);
  return found == held_.end() ? 0 : found->second;
}

ShareHold::ShareHold(FairShare& share, std::string client)
    : share_(share), client_(std::move(client)) {}

ShareHold::~ShareHold() {
  if (amount_ > 0) share_.Return(client_, amount_);
}

absl::Status ShareHold::Take(uint64_t amount) {
  HOLDFAST_RETURN_IF_ERROR(share_.Take(client_, amount));
  amount_ += amount;
  return absl::OkStatus();
}

}  // namespace holdfast
