// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/value_batch.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

v1::ValueOperation::Kind KindOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kWrite:
      return v1::ValueOperation::KIND_WRITE;
    case ValueKind::kWaitAtLeast:
      return v1::ValueOperation::KIND_WAIT_AT_LEAST;
    case ValueKind::kWaitEqual:
      return v1::ValueOperation::KIND_WAIT_EQUAL;
    case ValueKind::kWaitAnd:
      return v1::ValueOperation::KIND_WAIT_AND;
    case ValueKind::kWaitNor:
      return v1::ValueOperation::KIND_WAIT_NOR;
  }
  return v1::ValueOperation::KIND_UNSPECIFIED;
}

}  // namespace

absl::Status ValueOperation::Check() const {
  HOLDFAST_RETURN_IF_ERROR(place.Check(size()));
  if (place.offset() % size() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a value of ", size(), " bytes at offset ", place.offset(),
                   ", which is not a multiple of its size"));
}

absl::StatusOr<v1::ValueBatch> ValueBatchMessage(
    std::span<const ValueOperation> operations) {
  v1::ValueBatch batch;
  for (const ValueOperation& operation : operations) {
    HOLDFAST_RETURN_IF_ERROR(operation.Check());
    v1::ValueOperation& message = *batch.add_operations();
    message.set_kind(KindOf(operation.kind));
    message.set_buffer(operation.place.handle());
    message.set_offset(operation.place.offset());
    message.set_wide(operation.wide);
    message.set_value(operation.value);
  }
  return batch;
}

absl::Status BatchValues(std::span<const ValueOperation> operations,
                         const Stream& stream) {
  for (const ValueOperation& operation : operations) {
    if (operation.place.session() == stream.session()) continue;
    return absl::InvalidArgumentError(
        "the memory of a value and the stream belong to different sessions");
  }
  HOLDFAST_ASSIGN_OR_RETURN(v1::ValueBatch batch,
                            ValueBatchMessage(operations));
  batch.set_stream(stream.handle());
  return stream.Submit(
      [&](v1::Command& command) { *command.mutable_value_batch() = batch; });
}

}  // namespace holdfast
