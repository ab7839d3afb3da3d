// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_STEP_CLOCK_H_
#define HOLDFAST_CORE_BASE_STEP_CLOCK_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// Records when the last message reached each step of its processing in this
// process. Clients request these times to measure latency. Thread-safe. If two
// messages overlap, the recorded times may be from both.
template <size_t kSteps>
class StepClock {
 public:
  // `names` has the names of the steps, in their order, and must outlive the
  // clock.
  explicit StepClock(const std::array<const char*, kSteps>& names)
      : names_(names) {}

  // Records the present time as the time of a step, in place of an earlier one.
  // REQUIRES: step < kSteps.
  void Mark(size_t step) {
    // steady_clock is CLOCK_MONOTONIC, which all processes of a machine share.
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    times_[step].store(std::chrono::nanoseconds(now).count(),
                       std::memory_order_relaxed);
  }

  // Appends the steps that were marked to `times`, a v1::StepTimes. Leaves out
  // steps that were never marked. Times are in nanoseconds since the machine's
  // start.
  template <typename Times>
  void AddTo(Times* times) const {
    for (size_t i = 0; i < kSteps; ++i) {
      const int64_t time = times_[i].load(std::memory_order_relaxed);
      if (time == 0) continue;
      auto* step = times->add_steps();
      step->set_name(names_[i]);
      step->set_nanoseconds(static_cast<uint64_t>(time));
    }
  }

 private:
  const std::array<const char*, kSteps>& names_;
  std::array<std::atomic<int64_t>, kSteps> times_{};
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_STEP_CLOCK_H_
