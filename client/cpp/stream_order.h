// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_STREAM_ORDER_H_
#define HOLDFAST_CLIENT_CPP_STREAM_ORDER_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace holdfast {

// Orders a stream of a session with work outside of the session, such as a
// CUstream of another library in this process. The stream calls it around every
// command that it submits. Thread-safe.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;

  // Later commands of the session's stream wait for the work outside.
  virtual absl::Status Enter() = 0;
  // Later work outside waits for the commands that the session's stream has.
  virtual absl::Status Leave() = 0;
  // A command of the session failed, so a signal that Leave() promised may
  // never be given: ends the waits of the work outside.
  virtual void Abandon() = 0;
};

// The place of a stream's order, usually empty: reading it costs one load.
// Thread-safe but for moving. Set at most once.
class StreamOrderSlot {
 public:
  StreamOrderSlot() = default;
  StreamOrderSlot(StreamOrderSlot&& other) noexcept
      : order_(other.order_.exchange(nullptr)) {}
  StreamOrderSlot& operator=(StreamOrderSlot&& other) noexcept {
    delete order_.exchange(other.order_.exchange(nullptr));
    return *this;
  }
  ~StreamOrderSlot() { delete order_.load(); }

  // Null: the stream is ordered with its session alone.
  StreamOrder* get() const { return order_.load(std::memory_order_acquire); }

  // Returns false if there is an order already.
  bool Set(std::unique_ptr<StreamOrder> order) {
    StreamOrder* none = nullptr;
    if (!order_.compare_exchange_strong(none, order.get())) return false;
    order.release();
    return true;
  }

 private:
  std::atomic<StreamOrder*> order_ = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STREAM_ORDER_H_
