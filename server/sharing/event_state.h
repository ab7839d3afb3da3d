// SPDX-License-Identifier: Apache-2.0
//
// The page of host memory that belongs to an event which sessions share. Its
// maker writes it, the executors of importers map it for reading.
#ifndef HOLDFAST_SERVER_SHARING_EVENT_STATE_H_
#define HOLDFAST_SERVER_SHARING_EVENT_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// The last recording of an event: the word of the event's device memory that
// says when it is reached, and the number that the word has then. Numbers rise
// from 1 and are never used twice; 0: never recorded.
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

// Content of the page. An executor that was taken over can write anything here.
struct EventState {
  static constexpr size_t kPageBytes = 4096;
  // The words of an event's device memory: one for each stream that records it,
  // since the values of a word have to rise in stream order.
  static constexpr uint32_t kMaxWords = 65536;

  std::atomic<uint64_t> latest{0};  // EventRecording::Pack
  std::atomic<uint32_t> words{0};   // that have been used
  // Set by the supervisor: nothing records the event any more, nor reaches a
  // recording.
  std::atomic<uint32_t> abandoned{0};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_EVENT_STATE_H_
