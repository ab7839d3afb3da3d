// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_BASE_START_THREAD_H_
#define HOLDFAST_CORE_SOFTWARE_BASE_START_THREAD_H_

#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::software {

// The text for messages about a thread that the system refuses.
inline constexpr char kNoThread[] = "the system allows no more threads";

// Starts a thread that runs `run`. Returns nullopt if the system allows no more
// threads; std::thread throws in this case, which would end the process. This
// function replaces StartThread of core/base, which returns Abseil's status:
// this library is not linked with Abseil's status.
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
