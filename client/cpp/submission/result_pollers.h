// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_POLLERS_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_POLLERS_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "client/cpp/submission/execute_stream.h"

namespace holdfast {

// Coordinates callers that poll for their own results with the reading thread,
// which leaves the results to them: a caller that reads its result itself waits
// for no other thread. Thread-safe.
class ResultPollers {
 public:
  // Used by a caller: calls `poll`, which reads results, until it returns true,
  // but gives up when that takes too long (SpinThenSleep).
  void Poll(absl::FunctionRef<bool()> poll);

  // Used by the reading thread, which would only compete with callers. Sleeps
  // while callers are in Poll, and a while longer. Returns when there are
  // results without a reader, when the stream has ended, or when there was no
  // traffic for a while.
  void AwaitPollers(const ExecuteStream& stream) const;

  // Notes that a thread has read results.
  void NoteRead() { ++reads_; }
  // The number of calls of Poll so far.
  uint32_t polls() const { return polls_; }

 private:
  std::atomic<uint32_t> polling_{0};  // now
  std::atomic<uint32_t> polls_{0};
  std::atomic<uint32_t> reads_{0};
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_RESULT_POLLERS_H_
