// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_FLAG_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_FLAG_H_

#include <atomic>

namespace holdfast {

// A flag of a stream: set if the stream may be capturing. It makes the check
// for a stream without a capture cost one load. The flag stays set after the
// capture has ended, until the stream's next command. Thread-safe, except for
// moves.
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

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_DEFINITION_CAPTURE_FLAG_H_
