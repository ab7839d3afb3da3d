// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_TRANSFER_CHANNELS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_TRANSFER_CHANNELS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/channel.h"

namespace holdfast {

// The connections for a session's transfers, besides the connection of its
// commands. They are made when needed, and kept for later transfers. Calls on
// one connection share a socket and a thread at either end, so calls on several
// connections are faster. Thread-safe.
class TransferChannels {
 public:
  // Beyond this number, calls share connections.
  static constexpr size_t kMaxChannels = 16;

  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;
  explicit TransferChannels(Connect connect) : connect_(std::move(connect)) {}

  // Returns a channel for a call. Makes a connection if all channels are in use
  // and there are fewer than kMaxChannels; fails as `connect` does. No other
  // call uses the channel until the pointer is released, unless all channels
  // are in use. TransferChannels must outlive the pointer.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Take();

 private:
  struct Entry {
    std::shared_ptr<grpc::Channel> channel;
    size_t users = 0;
  };

  std::shared_ptr<grpc::Channel> Use(Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Connect connect_;
  absl::Mutex mutex_;
  // Pointers, so that entries do not move.
  std::vector<std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  size_t connecting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_TRANSFER_CHANNELS_H_
