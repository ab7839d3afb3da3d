// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_CUDA_STREAM_H_
#define HOLDFAST_CORE_CUDA_STREAM_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/cuda/context.h"
#include "cuda.h"

namespace holdfast::cuda {

class Event;

struct StreamOptions {
  // Lower numbers are more urgent. Must lie within the context's range.
  int priority = 0;
  // True: work of the stream is not ordered with the context's NULL stream.
  bool non_blocking = true;
};

// An ordered queue of device work: cuStreamCreateWithPriority. Thread-safe;
// work that several threads add at the same time enters in any order. The
// destructor does not wait for the work, which still completes.
//
// Functions that enqueue work take a `const Stream&`: copies (copy.h), boxes
// (box.h), launches (launch.h), graphs (graph.h).
//
//   HOLDFAST_ASSIGN_OR_RETURN(auto context, Context::RetainPrimary(device));
//   HOLDFAST_ASSIGN_OR_RETURN(auto stream, Stream::Create(context, {}));
//   HOLDFAST_RETURN_IF_ERROR(FillAsync(*stream, address, 0, 1, size));
//   HOLDFAST_RETURN_IF_ERROR(stream->Synchronize());
class Stream {
 public:
  // Makes a stream. INVALID_ARGUMENT: the priority is out of the context's
  // range.
  static absl::StatusOr<std::unique_ptr<Stream>> Create(
      std::shared_ptr<const Context> context, const StreamOptions& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Valid as long as the stream; the driver may reuse the value afterwards.
  CUstream handle() const { return handle_; }

  // A number that no other stream of this process ever has, unlike handle().
  uint64_t id() const { return id_; }

  const Context& context() const { return *context_; }
  // The context, for objects that outlive the stream.
  const std::shared_ptr<const Context>& shared_context() const {
    return context_;
  }
  const StreamOptions& options() const { return options_; }

  // Makes later work of the stream wait until the work that `event` marks now
  // is done: cuStreamWaitEvent. Does not block. The event may be of another
  // device.
  absl::Status Wait(const Event& event) const;

  // Returns true if all present work is done: cuStreamQuery. May return an
  // error of the work. A kernel's fault is also returned by every later call of
  // the context.
  absl::StatusOr<bool> Query() const;

  // Blocks until all present work is done: cuStreamSynchronize. Fails as Query
  // does.
  absl::Status Synchronize() const;

 private:
  Stream(std::shared_ptr<const Context> context, const StreamOptions& options,
         CUstream handle);

  const std::shared_ptr<const Context> context_;
  const StreamOptions options_;
  const CUstream handle_;
  const uint64_t id_;
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_STREAM_H_
