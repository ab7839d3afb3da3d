// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_CHANNELS_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_CHANNELS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/channel.h"

namespace holdfast {

// The connections by which a session's bytes go, apart from that of its
// commands: made when they are needed, kept for the next time. Calls of one
// connection share a socket and a thread at either end, so that calls of
// several are faster. Thread-safe.
class TransferChannels {
 public:
  // More calls than this share connections.
  static constexpr size_t kMaxChannels = 16;

  using Connect =
      std::function<absl::StatusOr<std::shared_ptr<grpc::Channel>>()>;
  explicit TransferChannels(Connect connect) : connect_(std::move(connect)) {}

  // One for a call, which nobody else uses until the pointer is dropped, if
  // there are enough. The channels must outlive it.
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
  // Entries stay where they are.
  std::vector<std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  size_t connecting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_CHANNELS_H_
