// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_FENCE_H_
#define HOLDFAST_CLIENT_CPP_FENCE_H_

#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/stream.h"

namespace holdfast {

class PendingResult;

// A point in the session's commands to wait for. Made by Session::Fence.
class Fence {
 public:
  // Makes a fence that is reached when every command so far has been processed,
  // and the present work of these streams is done. No stream means all streams.
  static absl::StatusOr<Fence> Create(std::shared_ptr<SessionState> session,
                                      std::span<const Stream* const> streams,
                                      bool all_streams);

  // Waits. Returns the first failure of a command that was not reported yet,
  // with its sequence number.
  absl::Status Wait() const;

 private:
  Fence(std::shared_ptr<SessionState> session,
        std::shared_ptr<const PendingResult> result)
      : session_(std::move(session)), result_(std::move(result)) {}

  std::shared_ptr<SessionState> session_;
  std::shared_ptr<const PendingResult> result_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_FENCE_H_
