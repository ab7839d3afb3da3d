// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_CAPTURE_FLAG_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_CAPTURE_FLAG_H_

#include <atomic>

namespace holdfast {

// A flag of a stream that it may be capturing, so that the check costs a stream
// without a capture only one load. It stays set after the capture has ended,
// until the next command of the stream. Thread-safe, except for moves.
class CaptureFlag {
 public:
  CaptureFlag() = default;
  CaptureFlag(CaptureFlag&& other) noexcept : set_(other.IsSet()) {}
  CaptureFlag& operator=(CaptureFlag&& other) noexcept {
    Set(other.IsSet());
    return *this;
  }

  bool IsSet() const { return set_.load(std::memory_order_relaxed); }
  void Set(bool set) { set_.store(set, std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_ = false;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_CAPTURE_FLAG_H_
