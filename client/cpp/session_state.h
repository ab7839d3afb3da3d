// SPDX-License-Identifier: Apache-2.0
//
// The state that the resources of one session share. A resource holds it by
// shared_ptr, so that it may outlive the Session; it is then of no more use,
// but harmless.
#ifndef HOLDFAST_CLIENT_CPP_SESSION_STATE_H_
#define HOLDFAST_CLIENT_CPP_SESSION_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/graph/capture_registry.h"
#include "client/cpp/launch_limits.h"
#include "client/cpp/submission/command_queue.h"
#include "client/cpp/submission/handle_pool.h"
#include "client/cpp/transfer/transfer_channels.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast {

class StagingRing;

// Thread-safe.
//
// Session makes it when it opens and takes it down in its destructor;
// everything of the session finds its queue and its handles here.
struct SessionState : public std::enable_shared_from_this<SessionState> {
  // `stream` leads to the executor; `connect` makes channels for calls of
  // TransferService.
  SessionState(v1::SessionLimits limits,
               std::shared_ptr<grpc::ChannelInterface> channel,
               ExecuteStream::Options stream, CommandQueue::Options options,
               TransferChannels::Connect connect, uint32_t transfer_calls,
               std::string descriptor_path)
      : limits(std::move(limits)),
        token(stream.session_token),
        descriptor_path(std::move(descriptor_path)),
        handles(this->limits.max_handles()),
        transfer_calls(transfer_calls),
        transfer_channels(std::move(connect)),
        queue(std::move(channel), std::move(stream), std::move(options)) {}

  // As the daemon has told them when the session was opened; they do not
  // change.
  const v1::SessionLimits limits;
  // 32 hexadecimal digits.
  const std::string token;
  // The socket that takes descriptors; empty: the executor is not reached
  // directly, by a socket of this machine.
  const std::string descriptor_path;
  // One of the session's, for what is asked without a device. Set before the
  // session is used.
  uint32_t first_device = 0;
  // Handles of all kinds that this client uses.
  HandlePool handles;
  // Streams that record for a graph now.
  CaptureRegistry captures;
  // What is known of the session's devices, for launches.
  LaunchLimits launch_limits;
  // At once, of one copy.
  const uint32_t transfer_calls;
  // Channels for calls of TransferService, each a connection of its own.
  TransferChannels transfer_channels;
  // Commands of all threads, in the order in which they enter.
  CommandQueue queue;

  // Bytes of ordinary memory that have been copied.
  std::atomic<uint64_t> copied{0};
  // Made when ordinary memory is first copied through it; null: there can be
  // none. It has this state: the session takes it out in the end.
  absl::Mutex staging_mutex;
  std::optional<std::shared_ptr<StagingRing>> staging
      ABSL_GUARDED_BY(staging_mutex);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SESSION_STATE_H_
