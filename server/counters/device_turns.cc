// SPDX-License-Identifier: Apache-2.0
#include "server/counters/device_turns.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace holdfast {
namespace {

// Bounds what an executor loses whose supervisor does not wake it.
constexpr long kLongestWait = 50'000'000;  // ns

const uint32_t* Word(const std::atomic<uint32_t>& futex) {
  static_assert(sizeof(futex) == sizeof(uint32_t));
  return reinterpret_cast<const uint32_t*>(&futex);
}

}  // namespace

void DeviceTurns::AwaitChange(uint32_t seen) const {
  const timespec timeout = {.tv_sec = 0, .tv_nsec = kLongestWait};
  syscall(SYS_futex, Word(changes_), FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void DeviceTurns::Wake() {
  changes_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, Word(changes_), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void DeviceTurns::SetTurn(size_t device, Turn turn, bool paced) {
  devices_[device].turn.store(static_cast<uint32_t>(turn),
                              std::memory_order_release);
  paced_.store(paced ? 1 : 0, std::memory_order_relaxed);
  Wake();
}

}  // namespace holdfast
