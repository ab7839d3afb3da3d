// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_admission.h"

namespace holdfast::supervisor {

void SessionAdmission::SetParking(bool parking) {
  if (restarting()) return;
  upgrade_ = parking ? Upgrade::kParking : Upgrade::kNone;
}

absl::Status SessionAdmission::Check() const {
  if (upgrade_ != Upgrade::kNone && !draining_) {
    return absl::UnavailableError(
        "the daemon makes way for another, which opens sessions again");
  }
  if (closed()) {
    return absl::UnavailableError(
        "the daemon is draining and opens no new sessions");
  }
  return absl::OkStatus();
}

void SessionAdmission::Enter(const std::string& client) {
  ++in_transit_;
  ++in_transit_of_[client];
}

void SessionAdmission::Leave(const std::string& client) {
  --in_transit_;
  const auto found = in_transit_of_.find(client);
  if (--found->second == 0) in_transit_of_.erase(found);
}

size_t SessionAdmission::in_transit_of(const std::string& client) const {
  const auto found = in_transit_of_.find(client);
  return found == in_transit_of_.end() ? 0 : found->second;
}

}  // namespace holdfast::supervisor
