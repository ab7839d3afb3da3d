// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_

#include <atomic>
#include <chrono>

namespace holdfast::software {

// Starts the thread that watches deadlines, unless `allowed` is zero or the
// thread is running. Returns false if the system allows no thread; LastRefusal
// (refusal.h) then has the reason. A call must call StartWatchdog before it
// accepts work with a deadline. Thread-safe.
bool StartWatchdog(std::chrono::seconds allowed);

// A time limit: sets a flag if this object lives longer than the limit. The
// flag cancels a kernel that does not end.
//
//   Deadline deadline(std::chrono::seconds(5));
//   executable.Launch(..., deadline.passed());
//
// One thread watches all deadlines of the process.
// REQUIRES: StartWatchdog(allowed) has returned true in this process.
class Deadline {
 public:
  // The flag will be set when `allowed` has passed from now; zero: never.
  explicit Deadline(std::chrono::seconds allowed);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // The flag. Once set, it stays set. The pointer is valid as long as this
  // object.
  const std::atomic<bool>* passed() const { return &passed_; }

 private:
  std::atomic<bool> passed_{false};
  const bool watched_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_
