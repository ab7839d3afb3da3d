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

// A CUDA event, which marks a point in a stream. A new recording moves the
// mark; a wait that has begun still waits for the old point. Thread-safe.
class Event {
 public:
  // `flags` are CU_EVENT_... flags. `shared` is memory through which other
  // processes see the progress of the event (an interprocess event); null if
  // the event belongs to this process alone.
  Event(uint64_t context_id, unsigned flags,
        std::shared_ptr<SharedProgress> shared = nullptr)
      : context_id_(context_id), flags_(flags), shared_(std::move(shared)) {}

  // A recorded point of an event. A default-constructed point is already
  // reached.
  class Point {
   public:
    Point() = default;
    // Returns true if the point is reached. Does not block.
    bool Reached() const;

   private:
    friend class Event;
    Ticket ticket_;
    std::shared_ptr<SharedProgress> shared_;
    uint64_t recording_ = 0;
  };

  // A recording whose point is reached when a thread calls Reach(), instead of
  // when a stream comes to it.
  class Recording {
   public:
    // Makes the point reached. REQUIRES: called once.
    void Reach();

   private:
    friend class Event;
    std::shared_ptr<Latch> latch_;
    std::function<void()> reach_;
  };

  // Records the event in the stream. The point is reached at once if the stream
  // is idle. The point of an interprocess event is reached even after a fault
  // or a failure of this call, so that other processes do not wait for ever.
  // Fails as Stream::Add does.
  CUresult Record(Stream& stream);
  // Begins a recording for a graph that is being launched, and moves the mark.
  // REQUIRES: the run of the graph calls Reach() of the result in any case,
  // because threads and streams may wait for the point.
  Recording BeginRecording();
  // Returns the point that was recorded last.
  Point LastPoint() const;
  // Returns CUDA_SUCCESS if the last point is reached or the event was never
  // recorded, else CUDA_ERROR_NOT_READY. For an interprocess event, another
  // process may have recorded the last point.
  CUresult Query() const;
  // Makes later work of the stream wait for the last recorded point. Does
  // nothing if the point is reached. Later recordings have no effect on the
  // wait. Fails as Stream::Add does.
  CUresult Delay(Stream& stream) const;
  // Blocks until the last recorded point is reached; the calling thread helps
  // to run the stream's work. For an interprocess event, also returns if a
  // kernel has faulted, or if the process that recorded last has ended.
  void Wait() const;

  // Sets *ms to the milliseconds between the times at which the last points of
  // `start` and `end` were reached. CUDA_ERROR_INVALID_HANDLE: an event was not
  // recorded, or has no timing. CUDA_ERROR_NOT_READY: a point is not reached
  // yet.
  static CUresult Elapsed(const Event& start, const Event& end, float* ms);

  uint64_t context_id() const { return context_id_; }
  unsigned flags() const { return flags_; }
  const std::shared_ptr<SharedProgress>& shared() const { return shared_; }
  bool timed() const { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }

  // The event's place in a capture, if its last recording was captured;
  // otherwise null. Guarded by the lock of graph definitions
  // (GraphHandles::mutex).
  std::shared_ptr<EventCapture> capture;

 private:
  // One recording. Exists as long as something waits for it.
  struct Mark {
    Ticket ticket;
    std::atomic<int64_t> reached_ns{0};  // steady clock
  };

  // Returns the function that marks the point as reached. For an interprocess
  // event, counts a recording.
  std::function<void()> ReachOf(const std::shared_ptr<Mark>& mark);
  // Replaces the last recording.
  void Move(std::shared_ptr<Mark> mark);
  std::shared_ptr<Mark> mark() const;
  // Returns the ticket of the last recording of this process; a ticket that is
  // done if there is none.
  Ticket ticket() const;

  const uint64_t context_id_;
  const unsigned flags_;
  const std::shared_ptr<SharedProgress> shared_;
  mutable Mutex mutex_;
  std::shared_ptr<Mark> mark_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_
