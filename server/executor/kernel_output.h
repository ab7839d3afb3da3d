// SPDX-License-Identifier: Apache-2.0
//
// The output of kernels: of printf, and of assertions that failed. The driver
// writes the first to the standard output of its process, the second to its
// standard error: in an executor these are pipes, whose bytes go to the
// session's client among its results, and nowhere else.
//
// Nothing here waits for the client: of what it does not take, kMaxKept are
// kept, what follows is counted and lost.
#ifndef HOLDFAST_SERVER_EXECUTOR_KERNEL_OUTPUT_H_
#define HOLDFAST_SERVER_EXECUTOR_KERNEL_OUTPUT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/assertion_capture.h"
#include "server/executor/service/result_queue.h"

namespace holdfast::executor {

// Thread-safe.
//
// A thread reads the pipe, so that a kernel's output never blocks the driver.
// Output goes on its way when the thread sees it, or by Flush before a client
// is told that its work is done.
class KernelOutput {
 public:
  static constexpr size_t kMaxKept = size_t{256} << 10;
  // Nothing is added to a queue in which more waits.
  static constexpr size_t kMaxUnsentBytes = size_t{1} << 20;
  static constexpr size_t kMaxUnsent = ResultQueue::kMaxWaiting / 2;

  // Takes the process's standard output and error: once, before the driver is
  // loaded.
  // Fails if the process has no descriptors left.
  static absl::StatusOr<std::unique_ptr<KernelOutput>> Capture();
  // Drops the bytes that are written to standard output from now on.
  ~KernelOutput();
  KernelOutput(const KernelOutput&) = delete;
  KernelOutput& operator=(const KernelOutput&) = delete;

  // Hands on all that the driver has written before the call.
  void Flush();
  // The same; waits until the client has it, for `limit` at most.
  void FlushAndAwait(absl::Duration limit);

  // Where it goes from now on. Null: it is kept until there is a queue again,
  // or Take. Sends what was kept meanwhile.
  void SendTo(std::shared_ptr<ResultQueue> results);

  // The output that is kept; nullopt: none, or a queue takes it.
  std::optional<v1::KernelOutput> Take();

 private:
  KernelOutput(UniqueFd pipe, UniqueFd stop, UniqueFd nothing,
               size_t pipe_bytes, std::unique_ptr<AssertionCapture> assertions);
  // Reads what comes when nobody calls Flush.
  void Watch();
  // Read and Send, under the lock.
  void ReadAndSend();
  // At most as much as a pipe holds, since a kernel may print all the time.
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts what is beyond kMaxKept as lost.
  void Keep(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does nothing while the queue is too full; the thread tries again every 20
  // ms.
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UniqueFd pipe_;
  const UniqueFd stop_;
  const UniqueFd nothing_;   // /dev/null, for what is written in the end
  const size_t pipe_bytes_;  // that it holds
  const std::unique_ptr<AssertionCapture> assertions_
      ABSL_PT_GUARDED_BY(mutex_);
  const int assertion_descriptor_;
  absl::Mutex mutex_;
  v1::KernelOutput kept_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ResultQueue> results_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_KERNEL_OUTPUT_H_
