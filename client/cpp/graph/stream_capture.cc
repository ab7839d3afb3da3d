// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/stream_capture.h"

#include <utility>

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {

absl::StatusOr<StreamCapture> StreamCapture::Begin(const Stream& stream) {
  HOLDFAST_RETURN_IF_ERROR(stream.session()->captures.Begin(stream.handle()));
  stream.captures_.Set(true);
  return StreamCapture(stream.session(), stream.handle());
}

StreamCapture::StreamCapture(StreamCapture&& other) noexcept
    : session_(std::move(other.session_)),
      stream_(std::exchange(other.stream_, 0)) {}

StreamCapture& StreamCapture::operator=(StreamCapture&& other) noexcept {
  StreamCapture old(std::move(other));
  std::swap(session_, old.session_);
  std::swap(stream_, old.stream_);
  return *this;
}

StreamCapture::~StreamCapture() {
  if (stream_ != 0) session_->captures.Abandon(stream_);
}

absl::StatusOr<GraphDefinition> StreamCapture::End() {
  if (stream_ == 0) {
    return absl::FailedPreconditionError("the capture has ended");
  }
  return session_->captures.End(std::exchange(stream_, 0));
}

absl::StatusOr<GraphCondition> StreamCapture::CreateCondition(
    std::optional<uint32_t> default_value) {
  return session_->captures.CreateCondition(stream_, default_value);
}

absl::StatusOr<GraphNode> StreamCapture::Add(const Stream& stream,
                                             NodeParams params) {
  return session_->captures.AddNode(stream.handle(), stream.device(),
                                    std::move(params));
}

}  // namespace holdfast
