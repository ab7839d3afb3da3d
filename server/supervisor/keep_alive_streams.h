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

// The open KeepAlive streams of one session, by which its clients learn of its
// faults and its end. Thread-safe.
//
// Callbacks run one at a time, under the lock of this class, and must not call
// its methods. What a stream is told is read under the same lock, so that no
// stream sees an older state after a newer one.
class KeepAliveStreams {
 public:
  struct Stream {
    // Called at most once: with the reason if the session ends by itself, with
    // "" if its client closes it.
    std::function<void(const std::string& reason)> on_end;
    // Called with each fault, and again with the new epoch when the session has
    // another executor. May be null.
    std::function<void(const v1::FaultReport& report, uint64_t epoch)> on_fault;
    // Called when another daemon is about to take over. May be null.
    std::function<void()> on_restart;
  };

  // Adds a stream and calls `greet` with it, which tells it the present state.
  // Returns its number. If `greet` returns false the session is over, and the
  // stream is not called any more.
  int64_t Add(Stream stream, const std::function<bool(const Stream&)>& greet);
  // Nothing of the stream runs after Remove has returned.
  void Remove(int64_t number);

  // Calls `tell` with every stream.
  void ForEach(const std::function<void(const Stream&)>& tell);
  // Tells every stream of the end, and forgets all.
  void End(const std::string& reason);

 private:
  absl::Mutex mutex_;
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Stream> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_KEEP_ALIVE_STREAMS_H_
