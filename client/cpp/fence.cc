// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/fence.h"

#include "client/cpp/state/session_state.h"
#include "client/cpp/submission/command_queue.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<Fence> Fence::Create(std::shared_ptr<SessionState> session,
                                    std::span<const Stream* const> streams,
                                    bool all_streams) {
  for (const Stream* stream : streams) {
    HOLDFAST_RETURN_IF_ERROR(stream->RefuseIfCapturing("a fence"));
    HOLDFAST_RETURN_IF_ERROR(stream->Enter());
  }
  if (all_streams && session->captures.any()) {
    HOLDFAST_RETURN_IF_ERROR(
        session->captures.RefuseOnAny("waiting for all streams"));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      PendingResult result,
      session->queue.SubmitForResult([&](v1::Command& command) {
        v1::Fence& fence = *command.mutable_fence();
        fence.set_all_streams(all_streams);
        for (const Stream* stream : streams) {
          fence.add_streams(stream->handle());
        }
      }));
  session->queue.Flush();
  return Fence(std::move(session),
               std::make_shared<const PendingResult>(std::move(result)));
}

absl::Status Fence::Wait() const {
  HOLDFAST_RETURN_IF_ERROR(result_->Wait().status());
  return session_->queue.TakeFailure();
}

}  // namespace holdfast
