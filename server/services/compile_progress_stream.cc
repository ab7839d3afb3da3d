// SPDX-License-Identifier: Apache-2.0
#include "server/services/compile_progress_stream.h"

#include <utility>

#include "absl/time/clock.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// So that a client can tell a long compilation from a daemon that hangs.
constexpr absl::Duration kReportInterval = absl::Seconds(1);

v1::CompileProgress ToProgress(const CompileStage& stage) {
  v1::CompileProgress progress;
  const bool queued = stage.queue_position > 0;
  progress.set_stage(queued ? v1::CompileProgress::STAGE_QUEUED
                            : v1::CompileProgress::STAGE_RUNNING);
  progress.set_queue_position(static_cast<uint32_t>(stage.queue_position));
  progress.set_queue_length(static_cast<uint32_t>(stage.queue_length));
  return progress;
}

}  // namespace

void CompileProgressStream::Report(const CompileStage& stage) {
  const absl::Time now = absl::Now();
  if (stage == last_ && now < last_time_ + kReportInterval) return;
  last_ = stage;
  last_time_ = now;
  absl::MutexLock lock(&mutex_);
  next_ = ToProgress(stage);
  Proceed();
}

void CompileProgressStream::Finish(
    absl::StatusOr<v1::CompileProgress> outcome) {
  absl::MutexLock lock(&mutex_);
  status_ = outcome.status();
  next_.reset();
  if (outcome.ok()) {
    next_ = *std::move(outcome);
    next_->set_stage(v1::CompileProgress::STAGE_DONE);
  }
  Proceed();
}

void CompileProgressStream::OnWriteDone(bool /*ok*/) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  Proceed();
}

void CompileProgressStream::Proceed() {
  if (writing_ || finished_) return;
  finished_ = status_.has_value();
  if (next_.has_value()) {
    message_ = *std::move(next_);
    next_.reset();
    writing_ = true;
    if (!finished_) return StartWrite(&message_);
    return StartWriteAndFinish(&message_, {}, grpc::Status::OK);
  }
  if (finished_) {
    ServerWriteReactor<v1::CompileProgress>::Finish(
        ToGrpcStatus(*status_, trailer_bytes_));
  }
}

// The last one to hold the lock may still be letting go of it.
void CompileProgressStream::OnDone() {
  { const absl::MutexLock lock(&mutex_); }
  delete this;
}

}  // namespace holdfast
