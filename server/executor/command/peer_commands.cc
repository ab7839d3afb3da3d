// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {
namespace {

struct Pair {
  DeviceState* device = nullptr;
  DeviceState* peer = nullptr;
};

// Both devices, which get contexts.
template <typename Command>
absl::StatusOr<Pair> Find(Resources& resources, const Command& command) {
  if (command.device() == command.peer()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", command.device(), " is no peer of itself"));
  }
  Pair pair;
  HOLDFAST_ASSIGN_OR_RETURN(pair.device,
                            resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(pair.peer, resources.devices.Open(command.peer()));
  return pair;
}

absl::StatusOr<bool> CanAccess(const Pair& pair) {
  return pair.device->context->device().CanAccessPeer(
      pair.peer->context->device());
}

// Runs when the last work that might use the peer's memory has ended.
void Revoke(Resources& resources, const v1::DisablePeerAccess& command) {
  const auto pair = Find(resources, command);
  absl::Status status = pair.status();
  if (status.ok()) {
    status = pair->device->context->DisablePeerAccess(*pair->peer->context);
    status.Update(pair->peer->allocator->RevokeAccess(
        pair->device->context->device().handle()));
  }
  if (!status.ok()) {
    LogWarning("device ", command.device(), " keeps access to device ",
               command.peer(), ": ", status.message());
  }
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::QueryPeerAccess& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const Pair pair, Find(context.resources, command));
  HOLDFAST_ASSIGN_OR_RETURN(const bool can, CanAccess(pair));
  v1::Result result;
  v1::PeerAccess& answer = *result.mutable_peer_access();
  answer.set_can_access(can);
  answer.set_enabled(
      context.resources.peers.Allows(command.device(), command.peer()));
  if (can) {
    const cuda::Device& device = pair.device->context->device();
    const cuda::Device& peer = pair.peer->context->device();
    HOLDFAST_ASSIGN_OR_RETURN(
        const int rank,
        device.PeerAttribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, peer));
    HOLDFAST_ASSIGN_OR_RETURN(
        const int atomics,
        device.PeerAttribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                             peer));
    answer.set_performance_rank(rank);
    answer.set_native_atomics(atomics != 0);
  }
  context.Reply(std::move(result));
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::EnablePeerAccess& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const Pair pair, Find(context.resources, command));
  HOLDFAST_ASSIGN_OR_RETURN(const bool can, CanAccess(pair));
  if (!can) {
    return absl::FailedPreconditionError(absl::StrCat(
        "device ", command.device(), " cannot access the memory of device ",
        command.peer(), " (cuDeviceCanAccessPeer)"));
  }
  HOLDFAST_RETURN_IF_ERROR(
      pair.device->context->EnablePeerAccess(*pair.peer->context));
  HOLDFAST_RETURN_IF_ERROR(pair.peer->allocator->AllowAccess(
      pair.device->context->device().handle()));
  context.resources.peers.Enable(command.device(), command.peer());
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::DisablePeerAccess& command) {
  Resources& resources = context.resources;
  HOLDFAST_RETURN_IF_ERROR(Find(resources, command).status());
  if (!resources.peers.Disable(command.device(), command.peer())) {
    return absl::OkStatus();
  }
  const uint64_t change =
      resources.peers.Changes(command.device(), command.peer());
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Stream* after,
                            resources.AfterAllStreams(command.device()));
  return resources.watcher().Watch(
      *after,
      [command, change, later = resources.later()](const absl::Status&) {
        later([command, change](Resources& then) {
          if (then.peers.Changes(command.device(), command.peer()) == change) {
            Revoke(then, command);
          }
        });
      });
}

}  // namespace holdfast::executor
