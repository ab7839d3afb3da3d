// SPDX-License-Identifier: Apache-2.0
//
// The output of kernels: printf and failed assertions. The driver writes the
// output of printf to standard output, and failed assertions to standard error.
// In an executor both are pipes. The output of kernels goes only to the
// session's client, among its results.
//
// The driver never waits for the client: at most kMaxKept bytes of unsent
// output are kept. The rest is counted and lost.
#ifndef HOLDFAST_SERVER_EXECUTOR_OUTPUT_KERNEL_OUTPUT_H_
#define HOLDFAST_SERVER_EXECUTOR_OUTPUT_KERNEL_OUTPUT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/output/assertion_capture.h"
#include "server/executor/submission/result_queue.h"

namespace holdfast::executor {

// Captures the output while it lives. A thread reads the pipes, so that output
// never blocks the driver. Output is sent when the thread reads it, or by Flush
// before the end of a client's work is reported. Thread-safe.
class KernelOutput {
 public:
  // The most bytes of output that are kept.
  static constexpr size_t kMaxKept = size_t{256} << 10;
  // Output is kept, and not sent, while the queue has this many waiting bytes
  // or results.
  static constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
  static constexpr size_t kMaxUnsent = ResultQueue::kMaxWaiting / 2;

  // Redirects the process's standard output and error. Fails if the process has
  // no descriptors left. REQUIRES: called once, before the driver is loaded.
  static absl::StatusOr<std::unique_ptr<KernelOutput>> Capture();
  // Drops later output.
  ~KernelOutput();
  KernelOutput(const KernelOutput&) = delete;
  KernelOutput& operator=(const KernelOutput&) = delete;

  // Sends all output that the driver wrote before the call.
  void Flush();
  // Like Flush, but then blocks until the queue's results were sent, for
  // `limit` at most.
  void FlushAndAwait(absl::Duration limit);

  // Sends kept and later output to this queue. Null: keeps the output until the
  // next SendTo or Take.
  void SendTo(std::shared_ptr<ResultQueue> results);

  // Returns the line of the first failed assertion; empty if there was none.
  std::string FirstAssertion();

  // Removes and returns the kept output; nullopt if there is none, or if a
  // queue takes the output.
  std::optional<v1::KernelOutput> Take();

 private:
  KernelOutput(UniqueFd pipe, UniqueFd stop, UniqueFd nothing,
               size_t pipe_bytes, std::unique_ptr<AssertionCapture> assertions);
  // Runs in thread_: reads output between calls of Flush.
  void Watch();
  // Calls Read and Send, under the lock.
  void ReadAndSend();
  // Reads the pipe of standard output: at most its capacity, because a kernel
  // may print all the time.
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Appends the output to `kept`, a part of kept_; counts bytes beyond kMaxKept
  // as lost.
  void Keep(absl::string_view output, std::string* kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasKept() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does nothing while the queue is too full; the thread tries again every 20
  // ms.
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UniqueFd pipe_;
  const UniqueFd stop_;
  const UniqueFd nothing_;   // /dev/null, for output after the end
  const size_t pipe_bytes_;  // capacity of the pipe
  const std::unique_ptr<AssertionCapture> assertions_
      ABSL_PT_GUARDED_BY(mutex_);
  const int assertion_descriptor_;
  absl::Mutex mutex_;
  v1::KernelOutput kept_ ABSL_GUARDED_BY(mutex_);
  std::string first_assertion_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ResultQueue> results_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_OUTPUT_KERNEL_OUTPUT_H_
