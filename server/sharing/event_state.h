// SPDX-License-Identifier: Apache-2.0
//
// The page of host memory of a shared event. The session that made the event
// writes it; the executors of importers map it for reading.
#ifndef HOLDFAST_SERVER_SHARING_EVENT_STATE_H_
#define HOLDFAST_SERVER_SHARING_EVENT_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// The last recording of an event. A stream has reached the recording when word
// number `word` of the event's device memory has at least the value `number`.
// Numbers increase from 1; 0 means that the event was never recorded.
struct EventRecording {
  static constexpr int kNumberBits = 48;
  static constexpr uint64_t kMaxNumber = (uint64_t{1} << kNumberBits) - 1;

  uint32_t word = 0;
  uint64_t number = 0;

  constexpr uint64_t Pack() const {
    return uint64_t{word} << kNumberBits | number;
  }
  static constexpr EventRecording Unpack(uint64_t bits) {
    return {static_cast<uint32_t>(bits >> kNumberBits), bits & kMaxNumber};
  }
};

// The content of the page. A compromised executor can write anything here.
struct EventState {
  static constexpr size_t kPageBytes = 4096;
  // The most words of an event's device memory. Each stream that records the
  // event has its own word, because the values of a word must increase in
  // stream order.
  static constexpr uint32_t kMaxWords = 65536;

  std::atomic<uint64_t> latest{0};  // EventRecording::Pack
  std::atomic<uint32_t> words{0};   // the number of used words
  // Set by the supervisor when no stream will record the event or reach a
  // recording any more.
  std::atomic<uint32_t> abandoned{0};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_EVENT_STATE_H_
