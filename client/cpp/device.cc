// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/device.h"

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<v1::PeerAccess> Device::QueryPeerAccess(
    const Device& peer) const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session_->queue.Call([&](v1::Command& command) {
        command.mutable_query_peer_access()->set_device(ordinal_);
        command.mutable_query_peer_access()->set_peer(peer.ordinal_);
      }));
  return result.peer_access();
}

absl::StatusOr<bool> Device::CanAccessPeer(const Device& peer) const {
  HOLDFAST_ASSIGN_OR_RETURN(const v1::PeerAccess access, QueryPeerAccess(peer));
  return access.can_access();
}

absl::Status Device::EnablePeerAccess(const Device& peer) const {
  return session_->queue
      .Submit([&](v1::Command& command) {
        command.mutable_enable_peer_access()->set_device(ordinal_);
        command.mutable_enable_peer_access()->set_peer(peer.ordinal_);
      })
      .status();
}

absl::Status Device::SetLimit(v1::DeviceLimit limit, uint64_t value) const {
  return session_->queue
      .Submit([&](v1::Command& command) {
        v1::SetDeviceLimit& set = *command.mutable_set_device_limit();
        set.set_device(ordinal_);
        set.set_limit(limit);
        set.set_value(value);
      })
      .status();
}

absl::StatusOr<uint64_t> Device::GetLimit(v1::DeviceLimit limit) const {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Result result, session_->queue.Call([&](v1::Command& command) {
        command.mutable_query_device_limit()->set_device(ordinal_);
        command.mutable_query_device_limit()->set_limit(limit);
      }));
  return result.device_limit().value();
}

absl::Status Device::DisablePeerAccess(const Device& peer) const {
  return session_->queue
      .Submit([&](v1::Command& command) {
        command.mutable_disable_peer_access()->set_device(ordinal_);
        command.mutable_disable_peer_access()->set_peer(peer.ordinal_);
      })
      .status();
}

}  // namespace holdfast
