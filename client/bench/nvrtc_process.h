// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_NVRTC_PROCESS_H_
#define HOLDFAST_CLIENT_BENCH_NVRTC_PROCESS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/bench/bench_process.h"

namespace holdfast::bench {

// Calls NVRTC directly, in a process that waits for sources. So NVRTC and
// Holdfast can be measured in turns, with the machine in the same state.
class NvrtcProcess {
 public:
  static absl::StatusOr<std::unique_ptr<NvrtcProcess>> Start();

  // Compiles a source to PTX for kCompileArch. Returns the time in
  // microseconds, measured in that process. UNAVAILABLE: the compilation
  // failed; stderr has the reason.
  absl::StatusOr<double> Compile(const std::string& source);

 private:
  explicit NvrtcProcess(std::unique_ptr<BenchProcess> process)
      : process_(std::move(process)) {}

  const std::unique_ptr<BenchProcess> process_;
};

// Runs in the other process, `PROGRAM bench --nvrtc`. Reads sources, each after
// a line with its length, and prints a line with the microseconds for each.
// Returns when its stdin ends.
absl::Status ServeNvrtc();

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_NVRTC_PROCESS_H_
