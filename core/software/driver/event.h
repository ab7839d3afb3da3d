// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/software/base/mutex.h"
#include "core/software/driver/ipc.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

struct EventCapture;

// Marks a point in a stream. Recording again moves the mark; a wait for
// the old one goes on waiting for that. Thread-safe.
class Event {
 public:
  // `shared` is what other processes see of it; null for most events. `flags`
  // are CU_EVENT_....
  Event(uint64_t context_id, unsigned flags,
        std::shared_ptr<SharedProgress> shared = nullptr)
      : context_id_(context_id), flags_(flags), shared_(std::move(shared)) {}

  // A point that was recorded. A default one lies in the past.
  class Point {
   public:
    Point() = default;
    // Does not block.
    bool Reached() const;

   private:
    friend class Event;
    Ticket ticket_;
    std::shared_ptr<SharedProgress> shared_;
    uint64_t recording_ = 0;
  };

  // A recording whose point is reached when a thread says so, not a stream.
  class Recording {
   public:
    // REQUIRES: called once.
    void Reach();

   private:
    friend class Event;
    std::shared_ptr<Latch> latch_;
    std::function<void()> reach_;
  };

  // Reached at once if the stream is idle. With `shared`, reached even after a
  // fault, so that other processes do not wait for ever. Fails as Stream::Add.
  CUresult Record(Stream& stream);
  // Moves the mark, for a graph that is being launched. REQUIRES: the graph's
  // run calls Reach() in any case, since others may wait.
  Recording BeginRecording();
  // The point last recorded.
  Point LastPoint() const;
  // CUDA_SUCCESS, also if never recorded, or CUDA_ERROR_NOT_READY. For an event
  // that processes share, as its last recorder sees it.
  CUresult Query() const;
  // Makes the stream wait for the point last recorded. Does nothing if it is
  // reached. Later recordings do not matter. Fails as Stream::Add.
  CUresult Delay(Stream& stream) const;
  // Returns when it is reached. Lends the calling thread to the stream. Also
  // returns if the recorder of a shared event is gone.
  void Wait() const;

  // Milliseconds from `start` to `end`, with the errors of
  // cuEventElapsedTime. CUDA_ERROR_INVALID_HANDLE: one was not recorded, or has
  // no timing; CUDA_ERROR_NOT_READY: one is not reached.
  static CUresult Elapsed(const Event& start, const Event& end, float* ms);

  uint64_t context_id() const { return context_id_; }
  unsigned flags() const { return flags_; }
  const std::shared_ptr<SharedProgress>& shared() const { return shared_; }
  bool timed() const { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }

  // Where in a capture it was recorded, if it was recorded there last. Guarded
  // by the lock of graphs (graph/capture.h).
  std::shared_ptr<EventCapture> capture;

 private:
  // One recording. Kept by those who wait for it when the event moves on.
  struct Mark {
    Ticket ticket;
    std::atomic<int64_t> reached_ns{0};  // steady clock
  };

  // Returns the function to run when the mark is reached, and counts a
  // recording of a shared event.
  std::function<void()> ReachOf(const std::shared_ptr<Mark>& mark);
  void Move(std::shared_ptr<Mark> mark);
  std::shared_ptr<Mark> mark() const;
  // The point last recorded here; in the past if there is none.
  Ticket ticket() const;

  const uint64_t context_id_;
  const unsigned flags_;
  const std::shared_ptr<SharedProgress> shared_;
  mutable Mutex mutex_;
  std::shared_ptr<Mark> mark_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_
