// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/software/driver/ipc.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// Marks a point in a stream. Recording again moves the mark; who waits for
// the old one goes on waiting for that. Thread-safe.
class Event {
 public:
  // `shared` is what other processes see of it; null for most events.
  Event(uint64_t context_id, unsigned flags,
        std::shared_ptr<SharedProgress> shared = nullptr)
      : context_id_(context_id), flags_(flags), shared_(std::move(shared)) {}

  void Record(Stream& stream);
  // CUDA_SUCCESS, also if never recorded, or CUDA_ERROR_NOT_READY.
  CUresult Query() const;
  // Makes the stream wait for the point last recorded.
  void Delay(Stream& stream) const;
  // Returns when it is reached.
  void Wait() const;

  // Milliseconds from `start` to `end`, with the errors of
  // cuEventElapsedTime.
  static CUresult Elapsed(const Event& start, const Event& end, float* ms);

  uint64_t context_id() const { return context_id_; }
  unsigned flags() const { return flags_; }
  const std::shared_ptr<SharedProgress>& shared() const { return shared_; }
  bool timed() const { return (flags_ & CU_EVENT_DISABLE_TIMING) == 0; }

 private:
  struct Mark {
    Ticket ticket;
    std::atomic<int64_t> reached_ns{0};  // steady clock
  };

  std::shared_ptr<Mark> mark() const;
  // The point last recorded here; in the past if there is none.
  Ticket ticket() const;

  const uint64_t context_id_;
  const unsigned flags_;
  const std::shared_ptr<SharedProgress> shared_;
  mutable std::mutex mutex_;
  std::shared_ptr<Mark> mark_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_EVENT_H_
