// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_COMPILE_PROGRESS_STREAM_H_
#define HOLDFAST_SERVER_SERVICES_COMPILE_PROGRESS_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/v1/compile.pb.h"
#include "server/compile/compile_caller.h"

namespace holdfast {

// The stream of one CompileWithProgress or LinkWithProgress call. Sends a
// message for each new stage, repeats the stage from time to time, and sends
// the outcome last. A client that reads slowly misses stages, and delays no
// other call. The object deletes itself when the stream is over, after Finish
// at the earliest.
class CompileProgressStream final
    : public grpc::ServerWriteReactor<v1::CompileProgress> {
 public:
  // `trailer_bytes` limits the size of the final status; see ToGrpcStatus.
  explicit CompileProgressStream(size_t trailer_bytes)
      : trailer_bytes_(trailer_bytes) {}

  // Report sends a stage, and Finish sends the outcome or ends the call with
  // its error; neither blocks. REQUIRES: the thread that serves the call calls
  // them, and calls Finish once, last.
  void Report(const CompileStage& stage);
  void Finish(absl::StatusOr<v1::CompileProgress> outcome);

  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  // Sends the next message, unless one is being sent.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t trailer_bytes_;
  CompileStage last_;
  absl::Time last_time_ = absl::InfinitePast();

  absl::Mutex mutex_;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<v1::CompileProgress> next_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
  // The message that is being sent; gRPC borrows it.
  v1::CompileProgress message_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_COMPILE_PROGRESS_STREAM_H_
