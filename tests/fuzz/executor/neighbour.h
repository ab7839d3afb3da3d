// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_EXECUTOR_NEIGHBOUR_H_
#define HOLDFAST_TESTS_FUZZ_EXECUTOR_NEIGHBOUR_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tests/fuzz/executor/hosted_session.h"

namespace holdfast::fuzz {

// A healthy session beside the one that is fuzzed, in the same process: a
// thread writes numbers, runs a kernel on them and verifies what it reads back,
// round after round.
class Neighbour {
 public:
  // Returns when the first round is done, after which a round takes nothing
  // more from device or process.
  Neighbour();
  ~Neighbour();

  uint64_t rounds() const { return rounds_; }

  // Returns OK if no round has failed and there were rounds since the last
  // call.
  absl::Status Check();

 private:
  void Work();
  absl::Status Round();

  HostedSession session_;
  uint64_t sequence_ = 1;  // of the next command; the thread's
  uint64_t checked_ = 0;   // rounds at the last Check
  std::atomic<uint64_t> rounds_{0};
  std::atomic<bool> stop_{false};
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_EXECUTOR_NEIGHBOUR_H_
