// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/stream.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/event.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

uint64_t NextStreamId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> Stream::Create(
    std::shared_ptr<const Context> context, const StreamOptions& options) {
  if (options.priority < context->greatest_stream_priority() ||
      options.priority > context->least_stream_priority()) {
    return absl::InvalidArgumentError(
        absl::StrCat("stream priority ", options.priority, " is outside [",
                     context->greatest_stream_priority(), ", ",
                     context->least_stream_priority(), "] of device ",
                     context->device().ordinal()));
  }
  ScopedContext current(*context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const unsigned flags =
      options.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
  CUstream handle = nullptr;
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context->api(),
      cuStreamCreateWithPriority(&handle, flags, options.priority));
  return std::unique_ptr<Stream>(
      new Stream(std::move(context), options, handle));
}

Stream::Stream(std::shared_ptr<const Context> context,
               const StreamOptions& options, CUstream handle)
    : context_(std::move(context)),
      options_(options),
      handle_(handle),
      id_(NextStreamId()) {}

Stream::~Stream() {
  ScopedContext current(*context_);
  LogIfFailed(context_->api().cuStreamDestroy(handle_), "cuStreamDestroy");
}

absl::Status Stream::Wait(const Event& event) const {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(
      context_->api(),
      cuStreamWaitEvent(handle_, event.handle(), CU_EVENT_WAIT_DEFAULT));
  return absl::OkStatus();
}

absl::StatusOr<bool> Stream::Query() const {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const CUresult result = context_->api().cuStreamQuery(handle_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  HOLDFAST_RETURN_IF_ERROR(ToStatus(result, "cuStreamQuery"));
  return true;
}

absl::Status Stream::Synchronize() const {
  ScopedContext current(*context_);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_CUDA_RETURN_IF_ERROR(context_->api(), cuStreamSynchronize(handle_));
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
