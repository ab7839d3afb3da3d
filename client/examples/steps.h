// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_EXAMPLES_STEPS_H_
#define HOLDFAST_CLIENT_EXAMPLES_STEPS_H_

#include <chrono>
#include <cstdio>
#include <string>

namespace holdfast {

// Prints the steps of an example, one per line, with the time since the
// previous step:
//
//   compile the kernel                    12.4 ms   NVRTC 13.0 for sm_90
class Steps {
 public:
  void Done(const char* step, const std::string& remark = "") {
    std::printf("  %-34s %9.1f ms   %s\n", step, Milliseconds(last_),
                remark.c_str());
    last_ = Clock::now();
  }
  void Total() const {
    std::printf("  %-34s %9.1f ms\n", "total", Milliseconds(start_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double Milliseconds(Clock::time_point since) {
    return std::chrono::duration<double, std::milli>(Clock::now() - since)
        .count();
  }

  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_EXAMPLES_STEPS_H_
