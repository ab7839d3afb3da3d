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

// A point in the session's commands that a thread can wait for. Made by
// Session::Fence. A value type; copies wait for the same point.
class Fence {
 public:
  // Makes a fence that is reached when every command so far has been processed,
  // and the present work of `streams`, or of all streams, is done. Sends the
  // commands and does not wait. FAILED_PRECONDITION: one of the streams
  // captures.
  static absl::StatusOr<Fence> Create(std::shared_ptr<SessionState> session,
                                      std::span<const Stream* const> streams,
                                      bool all_streams);

  // Blocks until the fence is reached. Returns the first failure of a command
  // of the session that was not reported yet, with the command's sequence
  // number.
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
