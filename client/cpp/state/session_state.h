// SPDX-License-Identifier: Apache-2.0
//
// The state that the resources of one session share. Each resource holds it by
// shared_ptr, so that a resource which outlives the Session is unusable but
// safe.
#ifndef HOLDFAST_CLIENT_CPP_STATE_SESSION_STATE_H_
#define HOLDFAST_CLIENT_CPP_STATE_SESSION_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/connection/transfer_channels.h"
#include "client/cpp/graph/definition/capture_registry.h"
#include "client/cpp/state/launch_limits.h"
#include "client/cpp/submission/command_queue.h"
#include "client/cpp/submission/handle_pool.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast {

class StagingRing;

// Thread-safe.
//
// Made by Session::Open and shut down by the destructor of Session. Owns the
// session's queue and its handles.
struct SessionState : public std::enable_shared_from_this<SessionState> {
  // `connect` makes channels for calls of TransferService, to the executor if
  // the session is local, else to the daemon.
  SessionState(v1::SessionLimits limits, std::string token,
               std::unique_ptr<CommandQueue> commands,
               TransferChannels::Connect connect, uint32_t transfer_calls,
               std::string descriptor_path)
      : limits(std::move(limits)),
        token(std::move(token)),
        descriptor_path(std::move(descriptor_path)),
        handles(this->limits.max_handles()),
        transfer_calls(transfer_calls),
        transfer_channels(std::move(connect)),
        owned_queue(std::move(commands)),
        queue(*owned_queue) {}

  // The daemon's limits for the session, as they were when it was opened. They
  // never change.
  const v1::SessionLimits limits;
  // 32 hexadecimal digits.
  const std::string token;
  // The socket for sending descriptors to the executor; empty if the client
  // does not reach the executor by a Unix socket.
  const std::string descriptor_path;
  // Returns true if commands reach the executor without the daemon in between.
  bool is_local() const { return !descriptor_path.empty(); }
  // The default device of calls without one. Set before the session is used.
  uint32_t first_device = 0;
  // Handles of all kinds that this client uses.
  HandlePool handles;
  // Streams that are being captured.
  CaptureRegistry captures;
  // Limits of the session's devices, for launches.
  LaunchLimits launch_limits;
  // The most calls that one copy makes in parallel.
  const uint32_t transfer_calls;
  // Channels for calls of TransferService, each a connection of its own.
  TransferChannels transfer_channels;
  // The commands of all threads, in the order of submission.
  const std::unique_ptr<CommandQueue> owned_queue;
  CommandQueue& queue;

  // The number of bytes of ordinary memory that were copied so far.
  std::atomic<uint64_t> copied{0};
  // The ring for copies of ordinary memory; see StagingRing::Of. No value: not
  // made yet. Null: no ring can be made. The ring refers to this state, so the
  // session's end removes it.
  absl::Mutex staging_mutex;
  std::optional<std::shared_ptr<StagingRing>> staging
      ABSL_GUARDED_BY(staging_mutex);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STATE_SESSION_STATE_H_
