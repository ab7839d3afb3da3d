// SPDX-License-Identifier: Apache-2.0
//
// Calls functions of the program in stream order: cuLaunchHostFunc and
// cuStreamAddCallback.
#ifndef HOLDFAST_CLIENT_CUDA_HOST_FUNCTION_H_
#define HOLDFAST_CLIENT_CUDA_HOST_FUNCTION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/device.h"
#include "client/cpp/event.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/stream.h"

namespace holdfast::libcuda {

// `outcome` is the outcome of the stream's work before the function.
using HostFunction = std::function<void(const absl::Status& outcome)>;

// The functions of one stream. The stream records an event and then waits for a
// semaphore; a thread waits for the event, calls the function and signals the
// semaphore. The thread and the stream share ownership of this object, because
// the stream's work may outlive the stream. Thread-safe.
class HostFunctions {
 public:
  // Starts the thread, which runs until End.
  static absl::StatusOr<std::shared_ptr<HostFunctions>> Create(
      const holdfast::Device& device);

  // Makes the thread end once the functions so far have run. Does not wait.
  void End();

  // Adds a call of `function` at the present end of `stream`. Does not wait for
  // the call.
  absl::Status Add(HostFunction function, const holdfast::Stream& stream);

 private:
  struct Call {
    Event reached;
    HostFunction function;
    uint64_t number = 0;
  };

  explicit HostFunctions(Semaphore done) : done_(std::move(done)) {}
  void Run();
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return ends_ || !calls_.empty();
  }

  const Semaphore done_;
  absl::Mutex mutex_;
  std::deque<Call> calls_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_HOST_FUNCTION_H_
