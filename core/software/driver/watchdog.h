// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_

#include <atomic>
#include <chrono>

namespace holdfast::software {

// Starts the thread that watches deadlines, if `allowed` is not zero and the
// thread is not there. Returns false if the system allows no thread;
// LastRefusal says so. Called before work with a deadline is accepted.
// Thread-safe.
bool StartWatchdog(std::chrono::seconds allowed);

// Sets a flag if it lives too long: the end of a kernel that never ends.
//
//   Deadline deadline(std::chrono::seconds(5));
//   executable.Launch(..., deadline.passed());
//
// One thread watches all deadlines of the process.
// REQUIRES: StartWatchdog(allowed) has returned true in this process.
class Deadline {
 public:
  // Zero: never. Counts from now.
  explicit Deadline(std::chrono::seconds allowed);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Set once, and stays set. Valid as long as the deadline.
  const std::atomic<bool>* passed() const { return &passed_; }

 private:
  std::atomic<bool> passed_{false};
  const bool watched_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_WATCHDOG_H_
