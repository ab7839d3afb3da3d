// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_STREAM_ORDER_H_
#define HOLDFAST_CLIENT_CPP_STREAM_ORDER_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/status.h"

namespace holdfast {

// Orders a stream of a session with work outside of the session, such as a
// CUstream of another library in this process. The stream calls Enter() before
// and Leave() after each command that it submits. Thread-safe.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;

  // Makes later commands of the stream wait for the outside work so far.
  virtual absl::Status Enter() = 0;
  // Makes later outside work wait for the commands of the stream so far.
  virtual absl::Status Leave() = 0;
  // Ends the waits of the outside work. Called when a command of the session
  // has failed, because the signal for these waits may never come.
  virtual void Abandon() = 0;
};

// Owns the StreamOrder of a stream; usually empty. Reading it costs one load.
// Set at most once. Thread-safe, except for moves.
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

  // Null: the stream is not ordered with outside work.
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
