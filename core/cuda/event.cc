// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/event.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"
#include "core/cuda/stream.h"

namespace holdfast::cuda {
absl::StatusOr<std::unique_ptr<Event>> Event::Create(
    std::shared_ptr<const Context> context, const EventOptions& options) {
  ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  unsigned flags = CU_EVENT_DEFAULT;
  if (!options.timing) flags |= CU_EVENT_DISABLE_TIMING;
  if (options.blocking_sync) flags |= CU_EVENT_BLOCKING_SYNC;
  CUevent handle = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(context->api(), cuEventCreate(&handle, flags));
  return std::unique_ptr<Event>(new Event(std::move(context), options, handle));
}

Event::~Event() {
  ScopedContext current(*context_);
  LogIfFailed(context_->api().cuEventDestroy(handle_), "cuEventDestroy");
}

absl::Status Event::Record(const Stream& stream) {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(),
                                cuEventRecord(handle_, stream.handle()));
  recorded_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> Event::Query() const {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUresult result = context_->api().cuEventQuery(handle_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  HOLDFAST_RETURN_IF_ERROR(ToStatus(result, "cuEventQuery"));
  return true;
}

absl::Status Event::Synchronize() const {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(), cuEventSynchronize(handle_));
  return absl::OkStatus();
}

absl::StatusOr<float> ElapsedMilliseconds(const Event& start,
                                          const Event& end) {
  if (!start.options().timing || !end.options().timing) {
    return absl::FailedPreconditionError(
        "elapsed time needs two events that were created with timing");
  }
  if (!start.recorded() || !end.recorded()) {
    return absl::FailedPreconditionError(
        "elapsed time needs two events that have been recorded");
  }
  ScopedContext current(start.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  float milliseconds = 0;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      start.context().api(),
      cuEventElapsedTime(&milliseconds, start.handle(), end.handle()));
  return milliseconds;
}

}  // namespace holdfast::cuda
