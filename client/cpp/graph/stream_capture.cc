// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/graph/stream_capture.h"

#include <utility>

#include "client/cpp/graph/conditions.h"
#include "client/cpp/session_state.h"
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
  HOLDFAST_ASSIGN_OR_RETURN(v1::GraphDefinition definition,
                            session_->captures.End(std::exchange(stream_, 0)));
  return GraphDefinition::FromProto(std::move(definition));
}

absl::StatusOr<GraphCondition> StreamCapture::CreateCondition(
    std::optional<uint32_t> default_value) {
  v1::GraphCondition condition;
  condition.set_id(NewConditionId());
  if (default_value.has_value()) condition.set_default_value(*default_value);
  HOLDFAST_RETURN_IF_ERROR(session_->captures.AddCondition(stream_, condition));
  return GraphCondition{condition.id()};
}

absl::StatusOr<GraphNode> StreamCapture::Add(const Stream& stream,
                                             NodeParams params) {
  HOLDFAST_RETURN_IF_ERROR(params.status());
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint32_t id,
      session_->captures.AddNode(stream.handle(), stream.device(),
                                 std::move(params).proto()));
  return GraphNode{id};
}

}  // namespace holdfast
