// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_KEEP_ALIVE_STREAMS_H_
#define HOLDFAST_SERVER_SUPERVISOR_KEEP_ALIVE_STREAMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast::supervisor {

// The open KeepAlive streams of one session. Through these streams, clients
// learn about the session's faults and its end. Thread-safe.
//
// Callbacks run one at a time, under the lock of this class, and must not call
// its methods. A callback reads the session's state under this lock, so that no
// stream gets an older state after a newer state.
class KeepAliveStreams {
 public:
  struct Stream {
    // Called at most once, when the session ends. `reason` is "" if the client
    // has closed the session.
    std::function<void(const std::string& reason)> on_end;
    // Called with each fault, and again with the new epoch when the session has
    // another executor. May be null.
    std::function<void(const v1::FaultReport& report, uint64_t epoch)> on_fault;
    // Called when another daemon is about to take over. May be null.
    std::function<void()> on_restart;
  };

  // Adds a stream, and calls `greet`, which reports the present state to the
  // stream. Returns the number of the stream. If the session is over, `greet`
  // must return false; then no callback of the stream is called any more.
  int64_t Add(Stream stream, const std::function<bool(const Stream&)>& greet);
  // Removes a stream. No callback of the stream runs after Remove has returned.
  void Remove(int64_t number);

  // Calls `tell` with every stream.
  void ForEach(const std::function<void(const Stream&)>& tell);
  // Calls `on_end` of every stream, and removes all streams.
  void End(const std::string& reason);

 private:
  absl::Mutex mutex_;
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_KEEP_ALIVE_STREAMS_H_
