// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_BASE_START_THREAD_H_
#define HOLDFAST_CORE_SOFTWARE_BASE_START_THREAD_H_

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::software {

// The message of a thread that the system does not allow.
inline constexpr char kNoThread[] = "the system allows no more threads";

// Starts a thread that runs `run`; nullopt: the system allows no more threads.
// std::thread throws then, which would end the process. As core/base's
// StartThread, without Abseil's status, which this library is not linked with.
template <typename Run>
std::optional<std::thread> StartThread(Run run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_BASE_START_THREAD_H_
